"""The sentences of ``resolvers`` about arguments and rights."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from strawberry.relay.utils import to_base64

from dal.model import rules
from dal.query.errors import InvalidCursorError
from dal.table.errors import InvalidArgumentError
from resolvers.authorization import (
    ForbiddenError,
    UnauthenticatedError,
    may_change,
    require_viewer,
)
from resolvers.comments import _require_known
from resolvers.context import NO_DETAILS, Context, Viewer
from resolvers.mutations import InvalidInputError, _changed
from resolvers.node_ids import parse_node_id, plain_id
from resolvers.selection import plain_slice
from resolvers.shop_aspects import AspectInput, stated
from tests.resolvers.recording import STORES
from tests.strategies import ORDINARY


class Unlisted:
    """Loads the details of products without stored details."""

    async def load(self, _: str) -> object:
        return NO_DETAILS


def _aspect_error(names: list[str]) -> None:
    """Raise the error of a rating of an aspect that the shop does not have."""
    with pytest.raises(InvalidInputError) as caught:
        stated(names, "aspects", [AspectInput(name="cut", rating=5)])
    raise caught.value.faults[0]


UNKNOWN = SimpleNamespace(part=lambda _: SimpleNamespace(details=Unlisted()))
SENTENCES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: plain_slice(101, None, None, None),
        InvalidArgumentError,
        "first is 101; it must be from 0 to 100.",
    ),
    (
        lambda: plain_slice(1, None, 1, None),
        InvalidArgumentError,
        "Pass first or last, not both.",
    ),
    (
        lambda: plain_slice(None, "nonsense", None, None),
        InvalidCursorError,
        (
            "after: The cursor does not belong to this list: pass an edge's cursor back "
            "unchanged, or pass no cursor to start at the beginning."
        ),
    ),
    (
        lambda: stated(["fit", "value"], "aspects", [AspectInput(name="fit", rating=5)] * 2),
        InvalidArgumentError,
        "aspects.1.name repeats 'fit'. Rate each aspect only once.",
    ),
    (
        lambda: _aspect_error(["fit", "value"]),
        InvalidArgumentError,
        "aspects.0.name 'cut' is not an aspect of this shop. Use one of: fit, value.",
    ),
    (
        lambda: _aspect_error([]),
        InvalidArgumentError,
        "aspects.0.name 'cut' is not an aspect of this shop. Leave out aspects.",
    ),
    (
        lambda: _changed(rules.text, "text", None, False),
        InvalidArgumentError,
        "text is null. Leave it out to keep its value.",
    ),
    (
        lambda: require_viewer(Context(None, STORES)),
        UnauthenticatedError,
        "This field needs a user: send the header 'Authorization: Bearer <JWT>'.",
    ),
    (
        lambda: may_change(Viewer("stranger"), ORDINARY),
        ForbiddenError,
        "Only the author and moderators may change this comment.",
    ),
    (
        lambda: asyncio.run(_require_known(cast("Any", UNKNOWN), "7")),
        InvalidArgumentError,
        "productId '7' is not a product of this shop. Comment on a listed product.",
    ),
    (
        lambda: parse_node_id("id", "1", "Comment", "Submission"),
        InvalidArgumentError,
        (
            "id '1' is not a global id: pass the field id of the Comment or Submission, for "
            "example from comment(commentId:)."
        ),
    ),
    (
        lambda: parse_node_id("id", "1", "OrganizationUser"),
        InvalidArgumentError,
        "id '1' is not a global id: pass the field id of the OrganizationUser.",
    ),
    (
        lambda: parse_node_id("id", "1", "Comment", "Order", "Ticket"),
        InvalidArgumentError,
        "id '1' is not a global id: pass the field id of an object.",
    ),
    (
        lambda: parse_node_id("id", to_base64("Product", "42"), "Comment", "Submission"),
        InvalidArgumentError,
        (
            "id 'UHJvZHVjdDo0Mg==' is the global id of the Product '42', not of the type Comment "
            "or Submission."
        ),
    ),
    (
        lambda: plain_id("lines.0.productId", to_base64("Product", "42")),
        InvalidArgumentError,
        (
            "lines.0.productId 'UHJvZHVjdDo0Mg==' is the global id of the Product '42': pass its "
            "productId, '42', or look it up with node(id:)."
        ),
    ),
    (
        lambda: plain_id("commentId", to_base64("Product", "42")),
        InvalidArgumentError,
        (
            "commentId 'UHJvZHVjdDo0Mg==' is the global id of the Product '42': look it up with "
            "node(id:), or pass '42' to product(productId:)."
        ),
    ),
    (
        lambda: plain_id("commentId", to_base64("Comment", "d1")),
        InvalidArgumentError,
        (
            "commentId 'Q29tbWVudDpkMQ==' is the global id of the Comment 'd1': pass its "
            "commentId, 'd1', or look it up with node(id:)."
        ),
    ),
    (
        lambda: plain_id("commentId", to_base64("Submission", "d1")),
        InvalidArgumentError,
        (
            "commentId 'U3VibWlzc2lvbjpkMQ==' is the global id of the Submission 'd1': look it up "
            "with node(id:)."
        ),
    ),
]


@pytest.mark.parametrize(("refusal", "kind", "sentence"), SENTENCES)
def test_a_refusal_has_a_sentence(
    refusal: Callable[[], object], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind) as caught:
        refusal()
    assert str(caught.value) == sentence
