"""Users and what they say of themselves."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class User:
    """A user exists by name, as a product does."""

    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a user says of themselves."""

    full_name: str = ""
    email: str = ""
