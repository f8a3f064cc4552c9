"""The SDL: linters find no fault in it, but find faults in a changed copy."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from graphql import (
    build_schema,
    get_named_type,
    introspection_from_schema,
    is_input_object_type,
    is_object_type,
)
from strawberry import Schema

from schema.build import DESCRIPTION
from tests.engines import ROOT
from tests.schema.conftest import Run

LINT = Path(__file__).with_name("sdl") / "lint.mjs"
SCHEMA = ROOT / "schema.graphql"


def linted(*schemas: Path) -> list[list[dict[str, object]]]:
    """Return the linters' findings in each schema."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", LINT, *schemas],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_linters_accept_the_schema_and_reject_one_with_missing_descriptions(tmp_path: Path) -> None:
    worse = SCHEMA.read_text()
    for lacking in ("enum OrderStatus", "  SHIPPED\n", "  total: Money!\n"):
        worse, times = re.subn(rf'"""[^"]+"""\s+(?={re.escape(lacking)})', "", worse)
        assert times == 1
    worse = re.sub(r'"""[^"]+"""\s+pageInfo: PageInfo!', "", worse)
    (tmp_path / "schema.graphql").write_text(worse)
    ours, others = linted(SCHEMA, tmp_path / "schema.graphql")
    assert ours == []
    assert {finding["rule"] for finding in others} >= {
        "types-have-descriptions",
        "enum-values-have-descriptions",
        "fields-have-descriptions",
        "relay-connection-types-spec",
        "@graphql-eslint/require-description",
        "@graphql-eslint/relay-connection-types",
    }


IDENTIFYING = re.compile(r"ids?|\w+Ids?")
"""The names of arguments and input fields with an id, and of fields with one."""


def given(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Yield the path, name and type of each argument and input field."""
    for owner in schema._schema.type_map.values():
        if is_input_object_type(owner):
            for name, one in owner.fields.items():
                yield f"{owner.name}.{name}", name, get_named_type(one.type).name
        elif is_object_type(owner) and not owner.name.startswith("__"):
            for field, of in owner.fields.items():
                for name, one in of.args.items():
                    yield f"{owner.name}.{field}.{name}", name, get_named_type(one.type).name


def test_the_schema_has_its_declared_description(schema: Schema) -> None:
    described = introspection_from_schema(schema._schema)["__schema"]["description"]
    assert described == build_schema(SCHEMA.read_text()).description == DESCRIPTION


def test_arguments_and_input_fields_named_id_have_the_type_id(schema: Schema) -> None:
    for path, name, of in given(schema):
        assert (of == "ID") == bool(IDENTIFYING.fullmatch(name)), path


def test_fields_named_id_have_the_type_id(schema: Schema) -> None:
    for owner in schema._schema.type_map.values():
        if is_object_type(owner):
            for name, field in owner.fields.items():
                named = get_named_type(field.type).name
                assert (named == "ID") == bool(IDENTIFYING.fullmatch(name)), name


def test_every_list_has_a_total(schema: Schema) -> None:
    connections = [
        kind
        for name, kind in schema._schema.type_map.items()
        if name.endswith("Connection") and is_object_type(kind)
    ]
    assert len(connections) >= 5
    assert all(str(kind.fields["totalCount"].type) == "Int" for kind in connections)


def test_no_default_repeats_the_meaning_of_an_omitted_argument() -> None:
    assert re.findall(r"^.* = null.*$", SCHEMA.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize("given", ["", "first: null", "after: null, rating: null, last: null"])
async def test_null_and_an_omitted_argument_are_equal(run: Run, given: str) -> None:
    arguments = f"({given})" if given else ""
    answer = await run(
        f'{{ product(productId: "1") {{ comments{arguments} {{ totalCount nodes {{ id }} }} }} }}'
    )
    assert answer == {
        "data": {"product": {"comments": {"totalCount": 0, "nodes": []}}},
        "errors": [],
    }
