"""The prices of Amazon's services that the bill uses, read from a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path

from server.errors import CommandError
from tools.bench.capacity import Consumed

PRICES = Path(__file__).with_name("prices.toml")

_OTHERS: Mapping[str, type] = {"place": str, "date": date, "currency": str}
"""The types of the values that are not numbers."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices with their region and date. A month is of a GB (2**30 bytes) or of one object."""

    place: str
    date: date
    currency: str
    write_units: float
    """The price of a million units, as ``read_units``."""
    read_units: float
    storage: float
    recovery: float
    backup: float
    vcpu_hour: float
    memory_hour: float
    balancer_hour: float
    lcu_hour: float
    address_hour: float
    transfer: float
    free_transfer: float
    """GB of data transfer that are free in each month."""
    logs: float
    alarm: float
    metric: float
    secret: float

    def __post_init__(self) -> None:
        """Raise TypeError for a value with a wrong type."""
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, _OTHERS.get(one.name, (int, float))):
                raise TypeError(f"{one.name} is {value!r}")

    def of(self, consumed: Consumed) -> float:
        """Return the price of a million operations that consume ``consumed`` each."""
        return self.write_units * consumed.wcu + self.read_units * consumed.rcu


def read_prices(path: Path) -> Prices:
    """Return the prices in a TOML file. Raise CommandError if the file has no valid prices."""
    try:
        return Prices(**tomllib.loads(path.read_text("utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise CommandError(
            f"{path} has no valid prices ({error}): write them as in tools/bench/prices.toml."
        ) from error
