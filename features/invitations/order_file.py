"""Reads files of orders that are not stored in the table."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dal.model import own_ids, rules
from dal.table.errors import InvalidArgumentError
from features.invitations.model import Invitation
from server.errors import CommandError

_READ = ("order", "username", "products")
"""The columns that a file of orders must have. It may have ``name``."""


def orders_in(source: Path) -> list[Invitation]:
    """Return the orders of a CSV file. Rows of one order are joined.

    Raise CommandError for an invalid file, with the number of the line.
    """
    found: dict[str, Invitation] = {}
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in _READ if name not in (reader.fieldnames or ())]
            if missing:
                raise CommandError(
                    f"{source} lacks the column {missing[0]}: its first line must name the columns "
                    f"{', '.join(_READ)}, and name if it has names."
                )
            for row in reader:
                one = _order_in(row, f"{source}, line {reader.line_num}")
                there = found.get(one.order_id, one)
                if (there.username, there.name) != (one.username, one.name):
                    raise CommandError(
                        f"{source}, line {reader.line_num}: order {one.order_id} has another "
                        "username or name in an earlier line."
                    )
                products = tuple(dict.fromkeys((*there.products, *one.products)))
                found[one.order_id] = replace(one, products=products)
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{source} is not a text in UTF-8: save it as UTF-8.") from error
    except csv.Error as error:
        raise CommandError(f"{source} is not a CSV file: {error}.") from error
    if not found:
        raise CommandError(f"{source} has no orders.")
    return [*found.values()]


def _order_in(row: Mapping[str | None, Any], where: str) -> Invitation:
    try:
        name, products = (row.get("name") or "").strip(), row["products"] or ""
        return Invitation(
            own_ids.own_id("order", row["order"] or ""),
            own_ids.account("username", row["username"] or ""),
            # Without a product, the rule of ids says that products is empty.
            tuple([own_ids.own_id("products", one) for one in products.split() or [""]]),
            rules.name("name", name) if name else None,
        )
    except InvalidArgumentError as error:
        raise CommandError(f"{where}: {error}") from error
