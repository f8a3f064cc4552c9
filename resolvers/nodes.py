"""Relay's ``node`` and ``nodes``: return any object by its global id.

https://relay.dev/graphql/objectidentification.htm

``schema.roots`` passes a function for each type, which loads objects of this type. Other fields use
the same functions, so reads by global id have the same authorization.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Annotated, Any, TypeAlias

import strawberry

from dal.model import rules
from resolvers.node_ids import parse_node_id
from resolvers.selection import Info

MAX_NODES = 100
"""Maximum ids of one ``nodes`` field, and maximum representations of one ``_entities`` field."""

NodeId = Annotated[
    strawberry.ID, strawberry.argument(name="id", description="Global `id` of the object.")
]
NodeIds = Annotated[
    list[strawberry.ID],
    strawberry.argument(name="ids", description="Global `id`s of the objects. Maximum 100."),
]

Found: TypeAlias = object
"""The result for one id: the object, or the error of the failed read. None means not found."""


class Nodes:
    """Loads objects of any type. ``loaders`` has a function for each type, by its name."""

    def __init__(
        self, loaders: Mapping[str, Callable[[Info, str], Coroutine[Any, Any, object]]]
    ) -> None:
        self.loaders = loaders

    async def node(self, info: Info, node_id: NodeId) -> object:
        """Return the object with a global id; None if it is missing or not for the viewer."""
        type_name, own_id = parse_node_id("id", node_id, *self.loaders)
        return await self.loaders[type_name](info, own_id)

    async def nodes(self, info: Info, node_ids: NodeIds) -> list[Found]:
        """Return the objects in the order of ``node_ids``.

        If an object cannot be loaded, the list has the error in place of this object.
        """
        rules.few("ids", node_ids, MAX_NODES)
        # Load all objects in parallel, so that the context's loader reads all comments in one
        # request.
        parsed = (partial(parse_node_id, "ids", node_id, *self.loaders) for node_id in node_ids)
        return await asyncio.gather(*(self.found(info, parse) for parse in parsed))

    async def found(self, info: Info, parse: Callable[[], tuple[str, str]]) -> Found:
        """Return an object, or the error if it cannot be loaded.

        ``parse`` returns the object's type and its id within this type. It raises an error for an
        invalid id.
        """
        try:
            type_name, own_id = parse()
            return await self.loaders[type_name](info, own_id)
        except Exception as error:  # noqa: BLE001 - graphql-core catches every exception, too
            return error
