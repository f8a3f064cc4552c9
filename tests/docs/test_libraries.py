"""The examples of the libraries' pages do what the pages say."""

import random
import sys
from types import ModuleType
from typing import Any

from dal.dynamodb import admin
from dal.dynamodb.table import TableAddress, connect
from dal.query.cursors import decode_cursor
from dal.query.pagination import Slice
from dal.table.items import primary_key
from tests.docs.markdown import fences
from tests.docs.pages import living
from tests.engines import dynoxide

LEVELS = ("debug", "info", "error")


def names_of(page: str) -> dict[str, Any]:
    """Execute the only Python block of a library's page, and return its names."""
    (code,) = [
        one.text
        for one in fences(living()[f"docs/libraries/{page}.md"])
        if one.language == "python"
    ]
    module = ModuleType(f"example_of_{page}")
    sys.modules[module.__name__] = module  # Strawberry looks up types in the module
    exec(code, module.__dict__)
    return module.__dict__


def test_the_example_of_the_table_library_declares_a_sparse_index() -> None:
    names = names_of("table")
    keys = {"JobsPK": {"S": "JOBS#mail%2Feu"}, "JobsSK": {"S": "2026-11-01T12:00:00.000000Z#7"}}
    assert names["item"].items() >= keys.items()
    assert not names["done"].keys() & keys.keys()
    assert names["JOB"].decode(names["item"]) == names["job"]


async def test_the_example_of_the_client_library_reserves_a_name_once() -> None:
    reserve = names_of("dynamodb")["reserve"]
    with dynoxide() as url:
        async with connect(TableAddress("names", url, embedded=True)) as table:
            await admin.create(table, ())
            assert await reserve(table, "kettle", "ada")
            assert not await reserve(table, "kettle", "bob")
            held = await table.get(primary_key("NAME#kettle"))
            assert held
            assert held["owner"] == {"S": "ada"}
            assert await table.get(primary_key("OWNER#bob", "NAME#kettle")) is None


async def test_the_example_of_the_query_library_reads_exact_pages() -> None:
    names = names_of("query")
    draw = random.Random(1)
    days = [f"2026-11-{day:02}T12:00:00.000000Z" for day in (1, 2, 3)]
    lines = [
        {"id": str(n), "device": "d", "level": draw.choice(LEVELS), "at": draw.choice(days)}
        for n in range(60)
    ]
    with dynoxide() as url:
        async with connect(TableAddress("lines", url, embedded=True)) as table:
            await admin.create(table, names["LINE"].indexes)
            await table.put_many([names["LINE"].encode(line) for line in lines])
            found, after = [], None
            while True:
                page = await names["newest"](table, "d", {"info", "error"}, Slice(7, after=after))
                found += page.nodes
                if len(page.nodes) < 7:
                    break
                after = decode_cursor(page.edges[-1].cursor)
    wanted = [line for line in lines if line["level"] != "debug"]
    assert found == sorted(wanted, key=lambda line: (line["at"], line["id"]), reverse=True)


async def test_the_example_of_the_execution_library_refuses_a_costly_operation() -> None:
    names = names_of("execution")

    async def run(selected: str, name: str = "lamp") -> tuple[Any, list[str]]:
        found: tuple[Any, list[str]] = await names["run"](
            f'{{ device(name: "{name}") {selected} }}'
        )
        return found

    data, codes = await run("{ neighbours(first: 2) { rows { name } } }")
    assert [row["name"] for row in data["device"]["neighbours"]["rows"]] == ["lamp.0", "lamp.1"]
    assert codes == []
    rows = "{{ neighbours(first: 100) {{ rows {} }} }}"
    assert await run(rows.format(rows.format("{ name }"))) == (None, ["TOO_COSTLY"])
    assert await run("{ name }", "kettle") == ({"device": None}, ["NOT_FOUND"])
