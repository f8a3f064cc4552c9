"""Fields that are plain attributes and hold no selection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from graphql import (
    GraphQLBoolean,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLString,
    Undefined,
    get_nullable_type,
    is_non_null_type,
)
from graphql.pyutils import is_awaitable

_INT = " and -2147483648 <= {0} <= 2147483647"

_EXACT: dict[Any, tuple[type, str]] = {
    GraphQLString: (str, ""),
    GraphQLID: (str, ""),
    GraphQLBoolean: (bool, ""),
    GraphQLInt: (int, _INT),
}
"""The class whose values GraphQL's own scalars show as they are, but for some of them."""


class AnomalyError(Exception):
    """A value is out of the ordinary: graphql-core's executor says what becomes of it."""


def exact_class(type_: GraphQLOutputType) -> type | None:
    """Return the class whose values are all results already; None where there is none."""
    exact, within = _EXACT.get(get_nullable_type(type_), (None, ""))
    return None if within else exact


@dataclass(slots=True)
class Leaf:
    """A field that is an attribute of its object."""

    attribute: str
    of: GraphQLOutputType
    _leaf: GraphQLLeafType = field(init=False)
    _coerce: Callable[[Any], Any] = field(init=False)
    _kind: type[Any] = field(init=False, default=AnomalyError)

    def __post_init__(self) -> None:
        self._leaf = cast("GraphQLLeafType", get_nullable_type(self.of))
        self._coerce = cast("Callable[[Any], Any]", self._leaf.coerce_output_value)

    def unusual(self, name: str) -> str:
        """Return the Python condition under which a value is not its own result."""
        exact, within = _EXACT.get(self._leaf, (None, ""))
        usual = [] if is_non_null_type(self.of) else [f"{name} is None"]
        if exact:
            usual.append(f"type({name}) is {exact.__name__}{within.format(name)}")
        return f"not ({' or '.join(usual)})" if usual else "True"

    def result(self, value: Any) -> Any:
        """Return the result of a value; any exception where it is out of the ordinary."""
        if type(value) is not self._kind:
            if value is None or value is Undefined or isinstance(value, Exception):
                raise AnomalyError
            if is_awaitable(value):
                raise AnomalyError
            self._kind = type(value)
        result = self._coerce(value)
        if type(result) is not str and (
            result is None or result is Undefined or is_awaitable(result)
        ):
            raise AnomalyError
        return result
