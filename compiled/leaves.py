"""Fields of a selection set that are plain attributes and hold no selection: read all at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import attrgetter
from typing import Any, cast

from graphql import (
    GraphQLBoolean,
    GraphQLFloat,
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

Convert = Callable[[Any], Any]
Conversions = Sequence[tuple[int, Convert]]
"""What becomes of the values at some places."""

_MAX_SIGNATURES = 32
_MAX_INT = 2**31


class AnomalyError(Exception):
    """A value is out of the ordinary: graphql-core's executor says what becomes of it."""


def _int(value: int) -> int:
    if -_MAX_INT <= value < _MAX_INT:
        return value
    raise AnomalyError


def _float(value: float) -> float:
    if isfinite(value):
        return value
    raise AnomalyError


_EXACT: dict[Any, tuple[type, Convert | None]] = {
    GraphQLString: (str, None),
    GraphQLID: (str, None),
    GraphQLBoolean: (bool, None),
    GraphQLInt: (int, _int),
    GraphQLFloat: (float, _float),
}
"""The class whose values GraphQL's own scalars show as they are."""


def conversion_of(leaf: GraphQLLeafType, kind: type) -> Convert | None:
    """Return what makes a result of values of one class; None where they are results already."""
    exact, convert = _EXACT.get(leaf, (None, None))
    return convert if kind is exact else _coercion(leaf)


def exact_class(leaf: GraphQLLeafType) -> type | None:
    """Return the class whose values are all results already; None where there is none."""
    exact, convert = _EXACT.get(leaf, (None, None))
    return exact if convert is None else None


def _coercion(leaf: GraphQLLeafType) -> Convert:
    coerce = cast("Convert", leaf.coerce_output_value)

    def coerced(value: Any) -> Any:
        result = coerce(value)
        if type(result) is str:
            return result
        if result is None or result is Undefined or is_awaitable(result):
            raise AnomalyError
        return result

    return coerced


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field that is an attribute of its object, under a response key."""

    key: str
    attribute: str
    type: GraphQLOutputType

    def conversion(self, value: Any) -> Convert | None:
        """Return what makes a result of values of this value's class; AnomalyError for nothing."""
        kind = type(value)
        if value is None and not is_non_null_type(self.type):
            return None
        if value is None or value is Undefined or isinstance(value, Exception):
            raise AnomalyError
        if is_awaitable(value):
            raise AnomalyError
        return conversion_of(cast("GraphQLLeafType", get_nullable_type(self.type)), kind)


class Leaves:
    """Reads the leaves of objects; objects of one sort have values of the same classes."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.keys = [leaf.key for leaf in leaves]
        self._leaves = leaves
        self._get = _getter([leaf.attribute for leaf in leaves])
        self._known: dict[tuple[type, ...], Conversions] = {}

    def read(self, source: Any) -> Iterable[Any]:
        """Return the results in order; any exception where one is out of the ordinary."""
        values = self._get(source)
        conversions = self._known.get(tuple(map(type, values)))
        if conversions is None:
            conversions = self._conversions(values)
        if not conversions:
            return values
        results = list(values)
        for index, convert in conversions:
            results[index] = convert(results[index])
        return results

    def _conversions(self, values: Sequence[Any]) -> Conversions:
        found = [
            (index, convert)
            for index, (leaf, value) in enumerate(zip(self._leaves, values, strict=True))
            if (convert := leaf.conversion(value)) is not None
        ]
        if len(self._known) < _MAX_SIGNATURES:
            self._known[tuple(map(type, values))] = found
        return found


def _getter(attributes: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*attributes)
    return get if len(attributes) > 1 else lambda source: (get(source),)
