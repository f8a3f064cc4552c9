"""Organisations and their users."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class UserType(StrEnum):
    """What a user is to an organisation."""

    MEMBER = "MEMBER"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organisation under its unique name; ``plan`` is what it subscribed to."""

    name: str
    plan: str


@dataclass(frozen=True, slots=True)
class OrganizationUser:
    """One user of one organisation, named by its name."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER


@dataclass(frozen=True, slots=True)
class Roster:
    """An organisation together with its users, of whom no two share a username."""

    organization: Organization
    users: Sequence[OrganizationUser] = ()
