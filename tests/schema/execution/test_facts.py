"""The facts of all fields are those of a stored list, which a change of a fact must change, too."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from schema.build import build_schema
from schema.execution.facts import REQUESTED, ROWS_READ, Reads

STORED = json.loads(Path(__file__).with_name("facts.json").read_text("utf-8"))


def shown(reads: Reads) -> dict[str, Any]:
    """Return the attributes that are not the default."""
    usual = dataclasses.asdict(Reads())
    return {name: one for name, one in dataclasses.asdict(reads).items() if one != usual[name]}


def test_the_facts_of_all_fields_are_the_stored_ones() -> None:
    facts = build_schema(explain=True).facts
    named = {"partitions": list[str](), "further": list[str](), "decides": list[str]()}
    for name, fact in sorted(facts.arguments.items()):
        named[fact].append(name)
    lengths = {name: one for name, one in facts.sized.items() if one not in {REQUESTED, ROWS_READ}}
    assert {
        "reads": {name: shown(facts.reads[name]) for name in sorted(facts.reads)},
        "public": sorted(facts.public),
        "partitions": named["partitions"],
        "filters": named["further"],
        "look_ups": lengths,
    } == STORED
    assert named["decides"] == ["kind"]
    rows = {name for name, one in facts.sized.items() if one == REQUESTED}
    connections = {name for name in rows if name.endswith(("Connection.nodes", "Connection.edges"))}
    assert rows - connections == {"Movers.products"}
    assert {name for name, one in facts.sized.items() if one == ROWS_READ} == {"QueryPlan.rows"}


def test_a_subgraph_has_the_same_facts() -> None:
    """The roots of a subgraph inherit their fields."""
    facts = build_schema(explain=True, federation=True).facts
    assert sorted(facts.public) == STORED["public"]
    assert facts.reads.keys() - STORED["reads"].keys() == {"Query._entities"}
