"""Whether a table allows only one comment per user and product. The maintenance item stores it."""

from enum import StrEnum

from dal.counts.mode import Maintenance, Run

_ATTRIBUTE = "onePerPerson"
"""The attribute of the maintenance item. It is missing if the limit is off."""


class OnePerPerson(StrEnum):
    """Whether a person may have only one comment on each product.

    In ``MARKING`` and ``ON``, the write of a new comment also writes a reservation: an item that
    reserves the product for the comment's author. The write is refused if another comment of this
    author has the reservation. In ``MARKING``, a scan writes the reservations of older comments.
    """

    OFF = "off"
    MARKING = "marking"
    ON = "on"


def limit_of(state: Maintenance) -> OnePerPerson:
    """Return the limit of a table."""
    return OnePerPerson(state.extras.get(_ATTRIBUTE, OnePerPerson.OFF))


def is_limited(state: Maintenance) -> bool:
    """Return whether writes maintain the reservations of products."""
    return _ATTRIBUTE in state.extras


def extras(state: Maintenance, limit: OnePerPerson) -> dict[str, str]:
    """Return the extras of the maintenance item with another limit."""
    others = {name: value for name, value in state.extras.items() if name != _ATTRIBUTE}
    return others if limit is OnePerPerson.OFF else others | {_ATTRIBUTE: limit.value}


SWITCH = Run(
    "a change of the limit of comments per person",
    "table one-per-person on",
    runs=lambda state: limit_of(state) is OnePerPerson.MARKING,
    changes=limit_of,
)
"""The command that turns the limit on or off."""
