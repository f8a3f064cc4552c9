"""The trial's documents are of this schema: nobody runs it with every change."""

import pytest
from graphql import build_schema, parse, validate

from tests.engines import ROOT
from tests.trials.cdn import private

WRITES = (private._ORGANIZATION, private._PROFILE, private._TICKET)


@pytest.mark.parametrize("document", [*private.DOCUMENTS.values(), *WRITES])
def test_a_document_is_of_the_schema(document: str) -> None:
    schema = build_schema((ROOT / "schema.graphql").read_text("utf-8"))
    assert validate(schema, parse(document)) == []
