from typing import Any

import orjson
import pytest
from hypothesis import given

from dal.entities.organization import (
    ORGANIZATION_USER,
    decode_organization,
    encode_organization,
)
from dal.entities.ticket import TICKET, ticket_position
from dal.model import Organization, OrganizationUser, Ticket, UserType
from dal.table.items import Item
from tests.organizations import ticket
from tests.strategies import MORE, organizations, tickets


@MORE
@given(organizations)
def test_an_organisation_is_decoded_as_it_was_encoded(organization: Organization) -> None:
    assert decode_organization(encode_organization(organization)) == organization


@MORE
@given(tickets, tickets)
def test_tickets_share_a_partition_only_if_they_have_the_same_user(
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
                "GSI5PK": "DID#b%23b",
                "GSISK": "MEMBER#a%2Fc",
                "GSI1PK": "ORG#a%2Fc#USER#b%23b",
                "GSI1SK": "USER#b%23b",
                "data": '{"type":"ADMIN"}',
            },
        ),
    ],
)
def test_organisations_have_the_attributes_that_the_design_describes(
    item: Item, keys: dict[str, str]
) -> None:
    assert item == {name: {"S": value} for name, value in keys.items()}


def test_a_ticket_has_the_attributes_that_the_design_describes() -> None:
    item: dict[str, Any] = {name: one["S"] for name, one in TICKET.encode(ticket(4)).items()}
    position = "2024-04-30T20:00:00.000000Z#t%2F004"
    assert orjson.loads(item.pop("data")) == {
        "organization": "ac/me#1%",
        "username": "bob",
        "subject": "Subject 4",
        "text": "It does not boil.",
    }
    assert item == {
        "PK": "TICKET#t%2F004",
        "SK": "TICKET#t%2F004",
        "GSI1PK": "ORG#ac%2Fme%231%25#USER#bob",
        "GSI1SK": f"TICKET#{position}",
        "GSIPK": "TICKET#ac%2Fme%231%25/bob/OPEN",
        "GSI4PK": "TICKET#ac%2Fme%231%25/OPEN",
        "GSI3PK": "QUEUE#OPEN#2",
        "GSISK": position,
        "status": "OPEN",
    }
    assert ticket_position(ticket(4)) == position
