"""The sentences of the subgraph of Apollo Federation."""

import pytest

from dal.table.errors import InvalidArgumentError
from features.federation.resolvers import Entities
from resolvers.nodes import Nodes

ENTITIES = Entities(Nodes({}), {"Product": "productId", "Comment": "id"})


@pytest.mark.parametrize(
    ("type_name", "sentence"),
    [
        ("Order", "representations.1: __typename must be Product or Comment."),
        ("Product", "representations.1: Product needs productId, a string."),
    ],
)
def test_a_refusal_has_a_sentence(type_name: str, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ENTITIES.parse("representations.1", {"__typename": type_name})
    assert str(caught.value) == sentence
