"""The types and fields that Apollo Federation 2 adds to a subgraph, and the subgraph's SDL.

https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec
"""

from collections.abc import Mapping
from typing import Annotated, Any, Union

import strawberry
from strawberry.types.scalar import ScalarDefinition

from features.federation import resolvers as federation
from resolvers.authorization import ForbiddenError
from schema.execution.facts import Reads, facts
from schema.roots import NODES, Query

REPRESENTATION: Mapping[object, ScalarDefinition] = {
    federation.Representation: strawberry.scalar(
        name="_Any", description="Reference to an object of any subgraph: `__typename` and key."
    )
}
"""Maps ``Representation``, the Python type in the argument of ``_entities``, to its scalar."""

_LINK = """
extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])
"""


def subgraph_sdl(sdl: str, keys: Mapping[type, str]) -> str:
    """Return the subgraph's SDL, from which a gateway composes its schema.

    ``sdl`` is the SDL without Apollo's directives. ``keys`` has the types to which other subgraphs
    refer, and the key of each.
    """
    # A gateway refuses a type that several subgraphs define, unless it is ``@shareable``. Other
    # subgraphs also define Relay's PageInfo. The directive must be on the declaration of PageInfo:
    # on an ``extend type`` it would apply only to the fields of the extension.
    sdl = sdl.replace("\ntype PageInfo {", "\ntype PageInfo @shareable {")
    extended = (
        f'\nextend type {kind.__name__} @key(fields: "{key}")' for kind, key in keys.items()
    )
    return f"{sdl}\n{_LINK}{''.join(extended)}\n"


@strawberry.type(name="_Service", description="This subgraph.")
class Service:
    """The type of ``_service``, from which a gateway reads the SDL of a subgraph."""

    sdl: str = strawberry.field(description="SDL of this subgraph, with the keys of its entities.")


def federated(sdl: str | None, keys: Mapping[type, str]) -> type[Query]:
    """Return the type Query with the fields that Apollo Federation requires of a subgraph.

    ``sdl`` is the subgraph's SDL; None if clients must not see the schema. ``keys`` has the types
    to which other subgraphs refer, and the key of each.
    """
    resolver = federation.Entities(NODES, {kind.__name__: key for kind, key in keys.items()})
    entity: Any = Annotated[
        Union[tuple(keys)],  # noqa: UP007 - a union of types that only the caller knows
        strawberry.union(
            "_Entity", description="An object to which other subgraphs refer by its key."
        ),
    ]

    def service() -> Service:
        if sdl is None:
            raise ForbiddenError("This server does not show its schema: introspection is off.")
        return Service(sdl=sdl)

    @strawberry.type(name="Query", description="The root of all queries.")
    class Subgraph(Query):
        _service: Service = strawberry.field(
            name="_service",
            resolver=service,
            description="This subgraph's SDL, from which a gateway composes its schema.",
        )
        _entities: list[object] = strawberry.field(
            name="_entities",
            resolver=resolver.entities,
            graphql_type=list[entity | None],
            description="Look up entities by key, in the order of `representations`. The result "
            "has null for each entity that does not exist.",
            metadata=facts(reads=Reads(most_requests=2), sized="representations"),
        )

    return Subgraph
