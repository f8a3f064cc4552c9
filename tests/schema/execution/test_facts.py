"""The facts of all fields are those of a stored list, which a change of a fact must change, too."""

import dataclasses
import json
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

from graphql import GraphQLObjectType

from schema.build import build_schema
from schema.execution.facts import REQUESTED, ROWS_READ, Effect, FullPages, Reads, Sorting
from tests.feature_lists import added, files

PATHS = (Path(__file__).with_name("facts.json"), *files("facts.json"))
PARTS = [json.loads(path.read_text("utf-8")) for path in PATHS]


def together(name: str) -> dict[str, Any]:
    """Return the stored facts of the core and of features, by field."""
    return {field: fact for part in PARTS for field, fact in part.get(name, {}).items()}


PUBLIC = sorted(chain.from_iterable(part.get("public", ()) for part in PARTS))


def shown(reads: Reads) -> dict[str, Any]:
    """Return the attributes that are not the default."""
    usual = dataclasses.asdict(Reads())
    return {name: one for name, one in dataclasses.asdict(reads).items() if one != usual[name]}


def test_the_facts_of_all_fields_are_the_stored_ones() -> None:
    facts = build_schema(explain=True).facts
    named = defaultdict[object, set[str]](set)
    for arguments in facts.arguments.values():
        for name, fact in arguments.items():
            named[type(fact) if isinstance(fact, Sorting | FullPages) else fact].add(name)
    lengths = {name: one for name, one in facts.sized.items() if one not in {REQUESTED, ROWS_READ}}
    assert {
        "reads": {name: shown(facts.reads[name]) for name in facts.reads},
        "public": sorted(facts.public),
        "partitions": sorted(named[Effect.PARTITIONS]),
        "filters": sorted(named[Effect.FURTHER] | named[Sorting]),
        "look_ups": lengths,
    } == PARTS[0] | {"reads": together("reads"), "public": PUBLIC, "look_ups": together("look_ups")}
    assert named[Effect.SEARCHES] == {"contains"}
    assert named[Effect.LOOKS_UP] == {*chain.from_iterable(added("LOOK_UP_ARGUMENTS"))}
    assert named[FullPages] == {*chain.from_iterable(added("PLAN_ARGUMENTS"))}
    rows = {name for name, one in facts.sized.items() if one == REQUESTED}
    connections = {name for name in rows if name.endswith(("Connection.nodes", "Connection.edges"))}
    assert rows - connections == {*chain.from_iterable(added("SIZED_BY_REQUEST"))}
    read = {name for name, one in facts.sized.items() if one == ROWS_READ}
    assert read == {*chain.from_iterable(added("SIZED_BY_READS"))}


PAGING = {
    one.value.lower(): one for one in (Effect.FIRST, Effect.AFTER, Effect.LAST, Effect.BEFORE)
}


def test_each_argument_of_a_page_has_a_fact() -> None:
    """Without the fact, the prediction would ignore the argument."""
    schema = build_schema(explain=True)
    paged = {name for name, reads in schema.facts.reads.items() if reads.paged}
    without = {
        f"{owner.name}.{name}({argument})"
        for owner in schema._schema.type_map.values()
        if isinstance(owner, GraphQLObjectType)
        for name, field in owner.fields.items()
        if f"{owner.name}.{name}" in paged
        for argument in field.args
        if argument not in schema.facts.arguments[f"{owner.name}.{name}"]
    }
    assert without == {"Query.productSearch(title)"}
    for arguments in schema.facts.arguments.values():
        assert {name: arguments.get(name, one) for name, one in PAGING.items()} == PAGING
