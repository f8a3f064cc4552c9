"""The trial's documents are valid. As a test this is checked often, while the trial seldom runs."""

import pytest
from graphql import parse, validate

from schema.build import build_schema
from tools.trials.cdn import private

WRITES = (private._ORGANIZATION, private._PROFILE, private._TICKET)


@pytest.mark.parametrize("document", [*private.DOCUMENTS.values(), *WRITES])
def test_the_trials_document_is_valid(document: str) -> None:
    schema = build_schema(explain=True)  # like the server of the trial
    assert validate(schema._schema, parse(document)) == []
