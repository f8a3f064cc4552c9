from typing import Any

import orjson
import pytest
from hypothesis import given

from dal.entities.organization import (
    ORGANIZATION_USER,
    decode_organization,
    encode_organization,
    user_position,
)
from dal.entities.ticket import TICKET, TICKETS_BY_STATUS, TICKETS_OF_USER, ticket_position
from dal.model import Organization, OrganizationUser, Ticket, UserType
from dal.table.items import Item
from tests.organizations import ticket
from tests.strategies import MORE, organizations, tickets


@MORE
@given(organizations)
def test_an_organisation_comes_back(organization: Organization) -> None:
    assert decode_organization(encode_organization(organization)) == organization


@MORE
@given(tickets, tickets)
def test_tickets_stand_together_only_when_their_user_is_the_same(
    one: Ticket, other: Ticket
) -> None:
    same = (one.organization, one.username) == (other.organization, other.username)
    assert (TICKET.encode(one)["GSI1PK"] == TICKET.encode(other)["GSI1PK"]) == same
    alike = same and one.status == other.status
    assert (TICKET.encode(one)["GSIPK"] == TICKET.encode(other)["GSIPK"]) == alike


@pytest.mark.parametrize(
    ("item", "keys"),
    [
        (
            encode_organization(Organization("a/c", "Pro")),
            {"PK": "ORG#a%2Fc", "SK": "METADATA#a%2Fc", "data": '{"plan":"Pro"}'},
        ),
        (
            ORGANIZATION_USER.encode(OrganizationUser("a/c", "b#b", UserType.ADMIN)),
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
    item: dict[str, Any] = {name: one["S"] for name, one in TICKET.encode(ticket(4)).items()}
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
    user = ORGANIZATION_USER.encode(OrganizationUser("a", "bob"))
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
