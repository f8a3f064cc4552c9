"""What a nursery is told when it starts."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dal.table.client import TableAddress
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Orders:
    """The settings and the table of all workers, and the directory to leave metrics in, if any."""

    settings: Settings
    address: TableAddress
    metrics: Path | None

    def said(self) -> dict[str, Any]:
        """Return them by name: a nursery of a newer version may know more options."""
        return {
            "settings": _by_name(self.settings),
            "address": _by_name(self.address),
            "metrics": self.metrics,
        }

    @classmethod
    def heard(cls, said: dict[str, Any]) -> "Orders":
        """Return what was ``said``; TypeError for what this version does not know."""
        return cls(Settings(**said["settings"]), TableAddress(**said["address"]), said["metrics"])


def _by_name(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
