"""The GraphQL type of aspects."""

import strawberry

from dal.model.comment_fields import MAX_ASPECTS
from features.aspects import resolvers as aspects
from schema.costs import listed, public
from schema.execution.facts import facts


@strawberry.type(description="An aspect of products that customers of the shop can rate.")
class Aspect:
    """The GraphQL type of ``features.aspects.resolvers.Aspect``."""

    name: str = public(description="Name to pass in `aspects` of `addComment`, such as `fit`.")
    label: str | None = public(
        resolver=aspects.label,
        description="Label to show to customers. If the shop has no label in the language, the "
        "label is that for other languages, or the name.",
    )


ASPECTS = strawberry.field(
    resolver=aspects.aspects,
    graphql_type=list[Aspect],
    description="Aspects of products that customers can rate, in the shop's order. Maximum 6. "
    "Empty if the shop has none.",
    metadata=facts(reads=listed(4, MAX_ASPECTS), public=True),
)
"""The field ``aspects`` of the root."""
