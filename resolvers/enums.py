"""Enums of the domain, as the schema shows them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import strawberry


def show_enum(
    kind: type[StrEnum], description: str, values: Mapping[Any, str], *, name: str | None = None
) -> None:
    """Say what an enum is and what each of its members means; the domain knows no GraphQL."""
    strawberry.enum(kind, name=name, description=description)
    for value in kind.__strawberry_definition__.values:  # type: ignore[attr-defined]
        value.description = values[value.value]
