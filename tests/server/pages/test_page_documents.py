"""The pages' documents."""

import pytest
from graphql import parse

from schema.execution.compiled.coercion import has_variables
from schema.execution.selections import nodes_of
from server.pages.page_documents import DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_compiled_whole(name: str) -> None:
    """A directive by a variable leaves all around it to graphql-core, which takes twice as long."""
    asked = [
        directive
        for node in nodes_of(parse(DOCUMENTS[name]))
        for directive in getattr(node, "directives", None) or ()
    ]
    assert not any(map(has_variables, asked))
