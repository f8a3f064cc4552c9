"""Payloads of mutations: with user errors, all other fields are null or empty."""

from string import Template

import pytest
from graphql import get_named_type, is_leaf_type
from strawberry import Schema

from dal.errors import NotFoundError
from tests.schema.conftest import STAFF, Run
from tests.schema.test_access import IDS, MUTATIONS


def refuse() -> None:
    """Raise an error that the user can correct."""
    raise NotFoundError("It is gone.")


async def test_each_field_of_a_payload_with_an_error_is_null_or_empty(
    schema: Schema, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.mutations.writing", refuse)
    root = schema._schema.mutation_type
    assert root is not None
    for name, template in MUTATIONS.items():
        fields = get_named_type(root.fields[name].type).fields
        selected = " ".join(
            one if is_leaf_type(get_named_type(field.type)) else f"{one} {{ __typename }}"
            for one, field in fields.items()
        )
        given = Template(template).substitute(IDS)
        answer = await run(f"mutation {{ {name}(input: {{ {given} }}) {{ {selected} }} }}", STAFF)
        payload = answer["data"][name]
        assert payload.pop("userErrors"), name
        assert not any(payload.values()), name
        assert not answer.get("errors"), name
