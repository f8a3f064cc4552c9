"""Apollo Federation's field ``_entities``: returns objects to which other subgraphs refer by key.

https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec

Any client can send keys, not only a gateway. So this module loads objects by the same functions as
``node``, and these functions check authorization.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated, NewType

import strawberry

from dal.model import rules
from dal.table.errors import InvalidArgumentError
from resolvers.node_ids import parse_node_id, plain_id
from resolvers.nodes import MAX_NODES, Found, Nodes
from resolvers.selection import Info

Representation = NewType("Representation", object)
"""An entity's ``__typename`` and key. The value is not checked yet, so it may be of any type."""

Representations = Annotated[
    list[Representation],
    strawberry.argument(
        description="Entities to look up: the `__typename` and the key of each. Maximum 100."
    ),
]


class Entities:
    """Loads entities. ``keys`` has the field that is the key of each type, by the type's name."""

    def __init__(self, nodes: Nodes, keys: Mapping[str, str]) -> None:
        self._nodes = nodes
        self._keys = keys

    async def entities(self, info: Info, representations: Representations) -> list[Found]:
        """Return the object of each representation, in the order of ``representations``.

        If an object cannot be loaded, the list has the error in place of this object.
        """
        rules.few("representations", representations, MAX_NODES)
        parsed = (
            partial(self.parse, f"representations.{index}", representation)
            for index, representation in enumerate(representations)
        )
        return await asyncio.gather(*(self._nodes.found(info, parse) for parse in parsed))

    def parse(self, place: str, representation: object) -> tuple[str, str]:
        """Return the type of the object that a representation names, and its id within this type.

        ``place`` names the representation in errors, for example ``representations.0``.
        """
        fields = representation if isinstance(representation, dict) else {}
        type_name = fields.get("__typename")
        if not isinstance(type_name, str) or type_name not in self._keys:
            types = " or ".join(self._keys)
            raise InvalidArgumentError(place, f"{place}: __typename must be {types}.")
        name = self._keys[type_name]
        key = fields.get(name)
        if not isinstance(key, str):
            raise InvalidArgumentError(place, f"{place}: {type_name} needs {name}, a string.")
        if name == "id":
            return parse_node_id(f"{place}.id", key, type_name)
        return type_name, plain_id(f"{place}.{name}", key)
