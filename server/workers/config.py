"""What a fork server is told when it starts."""

from dataclasses import dataclass, fields
from typing import Any

from dal.client.table import TableAddress
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The settings and the table of all workers."""

    settings: Settings
    address: TableAddress

    def to_dict(self) -> dict[str, Any]:
        """Return them by name: a fork server of a newer version may know more options."""
        return {"settings": _by_name(self.settings), "address": _by_name(self.address)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "WorkerConfig":
        """Return what ``to_dict`` gave; TypeError for what this version does not know."""
        settings, address = Settings(**values["settings"]), TableAddress(**values["address"])
        return cls(settings, address)


def _by_name(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
