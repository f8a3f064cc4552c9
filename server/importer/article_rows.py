"""The rows of tables laid out as in the articles that this project started from, kind by kind.

Comments have an item of their own (``COMMENT#<id>`` twice, index keys as ``PRODUCT#42/en/5``, a
date for a sort key), or copies under ``PRODUCT#42/~/~``. Orders and their lines stand under
``USER#alex``, ``ORDER#<id>`` and ``SHIPPED#<date>``, organisations, their users and tickets under
``ORG#<name>`` and ``TICKET#<id>``.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dal.entities.declared import INDEXES
from server.errors import CommandError
from server.importer.article_items import ArticleItem, Items, as_text, by_field
from server.importer.file_kinds import COMMENTS
from server.importer.rows import Row

Cells = Mapping[str, object]

_FIELDS_OF_A_COMMENT = [one.name for one in COMMENTS.fields if one.name != "id"]

_KEYS_OF_A_COMMENT = 4
"""Of indexes, by product alone and with language and rating."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_DAY_FIRST = re.compile(r"([0-3][0-9])\.([01][0-9])\.([0-9]{4})")


@dataclass(slots=True)
class Unloaded:
    """The items that are no rows of the kind asked for, counted by what their keys look like."""

    counts: Counter[str] = field(default_factory=Counter)

    def sentence(self) -> str:
        """Return what they are, in words."""
        listed = [f"{count:,} as {shape}" for shape, count in self.counts.most_common()]
        return f"Not loaded, of other kinds: {'; '.join(listed)}."


def _comment(found: ArticleItem, _: Items) -> Cells | None:
    """Return the cells of a comment's item, or of the first of its copies."""
    if not found.partition.startswith("COMMENT#"):
        return None
    if found.sort != found.partition and not found.sort.endswith("/~/~"):
        return None
    named = found.take(*_FIELDS_OF_A_COMMENT)
    derived: dict[str, object] = {"id": found.partition.removeprefix("COMMENT#")}
    products = sorted(found.key("PRODUCT#"), key=len)
    if products:
        derived["product_id"] = _product(products, named)
    if dates := [value for value in found.keys.values() if _DATE.match(value)]:
        derived["created_at"] = dates[0]
    return derived | named


def _product(keys: Sequence[str], named: Cells) -> str:
    """Return the product of keys such as ``42``, ``42/en``, ``42/5``, ``42/en/5``, ``42/~/~``.

    The shortest is the product alone, unless the item lacks that key.
    """
    shortest = keys[0]
    rating, language = as_text(named.get("rating")), as_text(named.get("language"))
    for end in ("/~/~", f"/{language}/{rating}", f"/{language}", f"/{rating}"):
        if shortest.endswith(end) and len(keys) < _KEYS_OF_A_COMMENT:
            return shortest.removesuffix(end)
    return shortest


def _order(found: ArticleItem, source: Items) -> Cells | None:
    if not (found.partition.startswith("USER#") and found.sort.startswith("ORDER#")):
        return None
    named = found.take("status", "created_at", "lines")
    derived: dict[str, object] = {
        "id": found.sort.removeprefix("ORDER#"),
        "username": found.partition.removeprefix("USER#"),
    }
    status, _, date = found.keys.get("OrderStatusDate", "").partition("#")
    derived |= {"status": status, "created_at": date} if date else {}
    cells = derived | named
    if "lines" in cells:
        cells["lines"] = _lines(cells["lines"])
    else:
        others = [ArticleItem(item, source) for item in source.with_sort_key(found.sort)]
        lines = [_line(one) for one in others if one.partition != found.partition]
        cells |= {"lines": lines} if lines else {}
    return cells


def _lines(value: object) -> object:
    if not isinstance(value, list):
        return value
    return [_line_cells(one) if isinstance(one, dict) else one for one in value]


def _line(found: ArticleItem) -> Cells:
    return {"product_id": found.partition.partition("#")[2]} | _line_cells(found.values)


def _line_cells(values: Cells) -> dict[str, object]:
    cells, _ = by_field(values, ("product_id", "quantity", "unit_price", "currency"))
    currency = cells.pop("currency", None)
    if "unit_price" in cells:
        price = as_text(cells["unit_price"])
        cells["unit_price"] = f"{price} {currency}" if currency else price
    if isinstance(quantity := cells.get("quantity"), str) and quantity.isdecimal():
        cells["quantity"] = int(quantity)
    return cells


def _organization(found: ArticleItem, source: Items) -> Cells | None:
    if not (found.partition.startswith("ORG#") and found.sort.startswith("METADATA#")):
        return None
    users: list[Cells] = []
    unused: dict[str, object] = {}
    for member in (ArticleItem(item, source) for item in source.collection(found.partition)):
        if member.sort.startswith("USER#"):
            cells = member.take("type")
            kind = {"type": cells.pop("type")} if "type" in cells else {}
            users.append({"username": member.sort.removeprefix("USER#"), **kind})
            unused |= cells
    name = found.partition.removeprefix("ORG#")
    return unused | {"name": name, "users": users} | found.take("subscription_plan")


def _ticket(found: ArticleItem, _: Items) -> Cells | None:
    if not found.partition.startswith("TICKET#"):
        return None
    derived: dict[str, object] = {"id": found.partition.removeprefix("TICKET#")}
    for owner in found.key("ORG#"):
        organization, between, username = owner.partition("#USER#")
        if between:
            derived |= {"organization": organization, "username": username}
    return derived | found.take("subject", "text", "status", "created_at")


def _profile(found: ArticleItem, _: Items) -> Cells | None:
    if not (found.partition.startswith("USER#") and found.sort.startswith("PROFILE")):
        return None
    username = found.partition.removeprefix("USER#")
    return {"username": username} | found.take("full_name", "email")


def _product_details(found: ArticleItem, _: Items) -> Cells | None:
    if not (found.partition.startswith("PRODUCT#") and found.sort == found.partition):
        return None
    return {"id": found.partition.removeprefix("PRODUCT#")} | found.take(
        "title", "picture_url", "url"
    )


_ROWS: Mapping[str, Callable[[ArticleItem, Items], Cells | None]] = {
    "comments": _comment,
    "orders": _order,
    "organizations": _organization,
    "tickets": _ticket,
    "profiles": _profile,
    "products": _product_details,
}

_SHAPES = (
    (r"COMMENT#", r"COMMENT#", "comments"),
    (r"COMMENT#", r"PRODUCT#.*/~/~\Z", "comments"),
    (r"COMMENT#", r"PRODUCT#", "copies of comments"),
    (r"PRODUCT#", r"S(#|\Z)", "statistics, which are counted anew"),
    (r"USER#", r"ORDER#", "orders"),
    (r"USER#", r"PROFILE", "profiles"),
    (r"", r"ORDER#", "lines of orders"),
    (r"ORG#", r"METADATA#", "organizations"),
    (r"ORG#", r"USER#", "users of organizations"),
    (r"TICKET#", r"TICKET#", "tickets"),
)


def refuse_ours(name: str, indexes: Collection[str]) -> None:
    """Raise CommandError when the indexes of a table are those of Marginalia's own."""
    if {index.name for index in INDEXES if index.name is not None} <= {*indexes}:
        raise CommandError(
            f"{name} is laid out as Marginalia's own table: use `marginalia export`, and load the "
            "files."
        )


def article_rows(
    source: Items, kind: str, unloaded: Unloaded, stopped: threading.Event
) -> Iterator[Row]:
    """Yield the rows of one kind, numbered as the items come; ``unloaded`` counts all others.

    It ends once ``stopped`` is set: a table may hold none of the kind for as long as it is read.
    """
    for number, item in enumerate(source, 1):
        if stopped.is_set():
            return
        found = ArticleItem(item, source)
        cells = _ROWS[kind](found, source)
        if cells is None:
            unloaded.counts[_shape(found)] += 1
        else:
            yield Row(number, {name: _dated(name, value) for name, value in cells.items()})


def _shape(found: ArticleItem) -> str:
    """Return what the keys of an item look like, with the name of the kind where they tell it."""
    keys = (found.partition, found.sort)
    looks = [f"{key.partition('#')[0][:20]}#…" if "#" in key else key[:20] for key in keys]
    for partition, sort, name in _SHAPES:
        if re.match(partition, found.partition) and re.match(sort, found.sort):
            return f"{' / '.join(looks)} ({name})"
    return " / ".join(looks)


def _dated(name: str, value: object) -> object:
    """Return a cell; a date such as the articles' ``20.11.2020`` as ISO 8601 has it."""
    dated = name in {"created_at", "updated_at"} and isinstance(value, str)
    if dated and (match := _DAY_FIRST.fullmatch(as_text(value))):
        day, month, year = match.groups()
        return f"{year}-{month}-{day}"
    return value
