from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.indexes import TICKETS_BY_STATUS, TICKETS_OF_USER
from dal.items import Item
from dal.organization_items import (
    decode_organization,
    decode_ticket,
    decode_user,
    encode_organization,
    encode_ticket,
    encode_user,
    ticket_position,
    user_position,
)
from dal.organization_model import Organization, OrganizationUser, Ticket, TicketStatus, UserType
from dal.tables import PROJECTED
from tests.organizations import ticket
from tests.strategies import MORE, identifiers, instants, texts

organizations = st.builds(Organization, identifiers, texts)
users = st.builds(OrganizationUser, identifiers, identifiers, st.sampled_from(UserType))
tickets = st.builds(
    Ticket,
    ticket_id=identifiers,
    organization=identifiers,
    username=identifiers,
    subject=texts,
    text=texts,
    created_at=instants,
    status=st.sampled_from(TicketStatus),
)


def row_of(item: Item, name: str, *keys: str) -> Item:
    """Return what an index holds of an item."""
    shown = {"PK", "SK", *keys, *PROJECTED[name]}
    return {attribute: value for attribute, value in item.items() if attribute in shown}


@MORE
@given(organizations)
def test_an_organisation_comes_back(organization: Organization) -> None:
    assert decode_organization(encode_organization(organization)) == organization


@MORE
@given(users)
def test_a_user_comes_back_from_the_table_and_from_gsi1(user: OrganizationUser) -> None:
    item = encode_user(user)
    assert decode_user(item) == user
    assert decode_user(row_of(item, "GSI1", "GSI1PK", "GSI1SK")) == user


@MORE
@given(tickets)
def test_a_ticket_comes_back_from_the_table_and_from_both_indexes(one: Ticket) -> None:
    item = encode_ticket(one)
    assert decode_ticket(item) == one
    assert decode_ticket(row_of(item, "GSI1", "GSI1PK", "GSI1SK")) == one
    assert decode_ticket(row_of(item, "byLangAndRating", "GSIPK", "GSISK")) == one


@MORE
@given(tickets, tickets)
def test_tickets_stand_together_only_when_their_user_is_the_same(
    one: Ticket, other: Ticket
) -> None:
    same = (one.organization, one.username) == (other.organization, other.username)
    assert (encode_ticket(one)["GSI1PK"] == encode_ticket(other)["GSI1PK"]) == same
    alike = same and one.status == other.status
    assert (encode_ticket(one)["GSIPK"] == encode_ticket(other)["GSIPK"]) == alike


@pytest.mark.parametrize(
    ("item", "keys"),
    [
        (
            encode_organization(Organization("a/c", "Pro")),
            {"PK": "ORG#a%2Fc", "SK": "METADATA#a%2Fc", "data": '{"plan":"Pro"}'},
        ),
        (
            encode_user(OrganizationUser("a/c", "b#b", UserType.ADMIN)),
            {
                "PK": "ORG#a%2Fc",
                "SK": "USER#b%23b",
                "GSI1PK": "ORG#a%2Fc#USER#b%23b",
                "GSI1SK": "USER#b%23b",
                "data": '{"type":"ADMIN"}',
            },
        ),
    ],
)
def test_items_are_as_the_design_says(item: Item, keys: dict[str, str]) -> None:
    assert item == {name: {"S": value} for name, value in keys.items()}


def test_a_ticket_is_as_the_design_says() -> None:
    item: dict[str, Any] = {name: one["S"] for name, one in encode_ticket(ticket(4)).items()}
    position = "2024-04-30T20:00:00.000000Z#t%2F004"
    assert orjson.loads(item.pop("data")) == {"subject": "Subject 4", "text": "It does not boil."}
    assert item == {
        "PK": "TICKET#t%2F004",
        "SK": "TICKET#t%2F004",
        "GSI1PK": "ORG#ac%2Fme%231%25#USER#bob",
        "GSI1SK": f"TICKET#{position}",
        "GSIPK": "TICKET#ac%2Fme%231%25/bob/OPEN",
        "GSISK": position,
        "status": "OPEN",
    }
    assert ticket_position(ticket(4)) == position


def test_the_item_at_the_beginning_of_a_list_stands_beside_its_rows() -> None:
    """A descending list begins at its highest key."""
    user = encode_user(OrganizationUser("a", "bob"))
    assert user["GSI1PK"] == {
        "S": TICKETS_OF_USER.partition_of({"organization": "a", "username": "bob"})
    }
    assert user["GSI1SK"]["S"].startswith(TICKETS_OF_USER.head)
    assert TICKETS_OF_USER.head > TICKETS_OF_USER.label
    assert encode_organization(Organization("a", ""))["SK"]["S"] < user["SK"]["S"]
    assert not TICKETS_BY_STATUS.head


def test_users_stand_by_name() -> None:
    names = ["Ann", "ann", "b/b", "bob", "é"]
    assert [user_position(OrganizationUser("a", name)) for name in names] == [
        "Ann",
        "ann",
        "b%2Fb",
        "bob",
        "é",
    ]
