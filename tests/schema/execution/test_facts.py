"""The facts of all fields are those of a stored list, which a change of the schema must name."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from schema.build import READS
from schema.execution.cost import _FILTERS, _LOOK_UPS, _UNCOUNTED, Reads
from schema.execution.visibility import PUBLIC

STORED = json.loads(Path(__file__).with_name("facts.json").read_text("utf-8"))


def shown(reads: Reads) -> dict[str, Any]:
    """Return the attributes that are not the default."""
    usual = dataclasses.asdict(Reads())
    return {name: one for name, one in dataclasses.asdict(reads).items() if one != usual[name]}


def test_the_facts_of_all_fields_are_the_stored_ones() -> None:
    assert {
        "reads": {name: shown(READS[name]) for name in sorted(READS)},
        "public": sorted(
            f"{owner}.{one}" for owner, all_ in PUBLIC.items() for one in all_.split()
        ),
        "partitions": sorted(_FILTERS),
        "filters": sorted(_UNCOUNTED),
        "look_ups": {name: one for name, one in _LOOK_UPS.items() if name != "Query._entities"},
    } == STORED
