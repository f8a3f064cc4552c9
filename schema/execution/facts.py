"""Facts of fields and arguments, in the ``metadata`` of Strawberry's fields and arguments.

A field's facts are its usual reads, and whether every client gets the same value. An argument's
fact is its effect on the reads of its field. The server predicts the cost of operations from the
reads, and lets shared caches keep only public values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from graphql import GraphQLArgument, GraphQLInterfaceType, GraphQLObjectType, get_named_type
from strawberry.schema.schema_converter import GraphQLCoreConverter

IsTypeOf = TypeVar("IsTypeOf", bound=Callable[..., bool])

_BACK = GraphQLCoreConverter.DEFINITION_BACKREF

EXPLAINED = {"explained": True}
"""Metadata of the fields and arguments that only a schema with ``explain`` has."""


class Effect(Enum):
    """The effect of an argument on the reads of its list.

    - FIRST and LAST: the argument is the number of rows that the client requests.
    - AFTER and BEFORE: the argument is a cursor. Together with LAST, these are Relay's arguments:
      https://relay.dev/graphql/connections.htm#sec-Arguments
    - PARTITIONS: the argument is a filter. Each of its values can be a separate partition to read:
      for example, rows with different ratings are in different partitions.
    - FURTHER: the argument can cause reads of statistics, or of rows that the page does not show.
    - SEARCHES: the argument searches rows without an index. Like FURTHER, it can cause reads of
      rows that the page does not show, up to ``ReadLimits.most_dropped`` rows for each of two
      plans.
    - LOOKS_UP: a value of the argument can equal ``Reads.looks_up``, and then causes a further read
      for each row.
    """

    FIRST = "FIRST"
    LAST = "LAST"
    AFTER = "AFTER"
    BEFORE = "BEFORE"
    PARTITIONS = "PARTITIONS"
    FURTHER = "FURTHER"
    SEARCHES = "SEARCHES"
    LOOKS_UP = "LOOKS_UP"


@dataclass(frozen=True, slots=True)
class Sorting:
    """The effect of an argument that sorts its list. Like FURTHER, it can cause further reads.

    - ``by_filter``: the values that sort by the values of a filter. The page reads the rows with
      one value of the filter after the rows with another value.
    - ``filter``: the name of the filter's argument.
    - ``filter_values``: the number of values that the filter can have.
    - ``in_stages``: the values for which a page is read in two stages: first the rows that have a
      value to sort by, then all other rows.
    """

    by_filter: frozenset[str]
    filter: str
    filter_values: int
    in_stages: frozenset[str]


@dataclass(frozen=True, slots=True)
class FullPages:
    """The effect of an argument that decides how a page is planned.

    With one of ``values``, the page reads as many rows as the client requests from each partition.
    """

    values: frozenset[str]


ArgumentFact: TypeAlias = Effect | Sorting | FullPages


def argument_fact(fact: ArgumentFact) -> dict[str, Any]:
    """Return the ``metadata`` of an argument with this fact."""
    return {"fact": fact}


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The sizes of a program's lists, and limits of its reads.

    - ``default_rows``: rows of a page for which the client requests no number of rows.
    - ``most_rows``: maximum rows of a page.
    - ``most_partitions``: maximum partitions that a page reads.
    - ``most_dropped``: maximum rows that a page reads and drops, because its filter excludes them.
    - ``most_requests``: maximum requests to DynamoDB that an operation usually sends.
    - ``questions``: what messages call questions to another store.
    - ``cold_requests`` and ``cold_rcu``: maximum requests, and their RCU, that fill the process's
      own caches during an operation.
    """

    default_rows: int
    most_rows: int
    most_partitions: int
    most_dropped: int
    most_requests: int
    questions: str = "questions"
    cold_requests: int = 0
    cold_rcu: float = 0.0


REQUESTED = "requested rows"
"""The length of a list that has as many rows as the client requests of the list's connection."""

ROWS_READ = "rows read"
"""The length of a list that has as many rows as the server reads for a page."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The usual reads of a field.

    - ``requests``: usual number of requests to DynamoDB.
    - ``most_requests``: maximum number of requests; None if it is ``requests``.
    - ``planned``: whether statistics plan the field's pages.
    - ``unit``: RCU that a request consumes for each started 4 KB.
    - ``paged``: whether the field reads as many rows as the client requests, instead of one row.
    - ``further``: number of extra requests for a page with the argument ``after`` or ``last``.
    - ``questions``: number of questions to another store.
    - ``together``: whether one request reads all fields of the object that have this mark.
    - ``once``: whether one further request is for all fields of the operation with this mark.
    - ``rows``: usual length of a list that no argument limits.
    - ``most``: maximum length of this list, if it is longer than ``rows``.
    - ``looks_up``: value of an argument, such as REPORTED. With this value, the field looks up a
      further item for each row, which costs ``unit`` RCU per row.
    """

    requests: float = 1
    unit: float = 1.0
    paged: bool = False
    further: int = 0
    questions: int = 0
    together: bool = False
    once: bool = False
    rows: float | None = None
    most: float = 0
    looks_up: str | None = None
    most_requests: float | None = None
    planned: bool = False


class _Facts(NamedTuple):
    reads: Reads | None
    public: bool
    below: Mapping[str, Reads]
    under: Mapping[str, Reads]
    sized: str


def facts(
    *,
    reads: Reads | None = None,
    public: bool = False,
    below: Mapping[str, Reads] | None = None,
    under: Mapping[str, Reads] | None = None,
    sized: str = "",
) -> dict[str, Any]:
    """Return the ``metadata`` of a field with these facts.

    - ``reads``: the usual reads of the field. The server predicts no reads for other fields.
    - ``public``: whether every client gets the same value. A type that inherits the field must also
      be ``shared``.
    - ``below``: the reads of fields directly below this field, by name, instead of the usual ones.
    - ``under``: the reads of this field directly below ``Type.field``, instead of the usual ones.
    - ``sized``: the length of the list: REQUESTED, ROWS_READ, or the name of an argument. The
      list then has one object for each value of the argument.
    """
    return {"facts": _Facts(reads, public, below or {}, under or {}, sized)}


PUBLIC = facts(public=True)
"""The metadata of a public field without reads."""


def by_class(is_type_of: IsTypeOf) -> IsTypeOf:
    """Declare that the method ``is_type_of`` of a type has one result for all values of a class.

    A compiled operation then calls it only when the class of the values changes.
    """
    is_type_of.by_class = True  # type: ignore[attr-defined]
    return is_type_of


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """The facts of all fields of a schema. The key of a field is ``Type.field``.

    If the field ``second`` is selected directly below ``Type.first``, the reads with the key
    ``Type.first.second`` replace the usual reads of ``second``. ``arguments`` has the fact of each
    argument of a field, by the argument's name. A cost depends on arguments whose name is in
    ``sizing``. It depends on a text only if the text is in ``deciding``.
    """

    limits: ReadLimits
    reads: dict[str, Reads] = field(default_factory=dict)
    public: set[str] = field(default_factory=set)
    sized: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, dict[str, ArgumentFact]] = field(default_factory=dict)
    sizing: set[str] = field(default_factory=set)
    deciding: set[str] = field(default_factory=set)

    def add(self, owner: GraphQLObjectType | GraphQLInterfaceType) -> None:
        """Add the facts of a type's fields."""
        origin = owner.extensions[_BACK].origin
        for name, declared in owner.fields.items():
            of, key = declared.extensions[_BACK], f"{owner.name}.{name}"
            if declared.args:
                self._add_arguments(key, declared.args)
            one: _Facts | None = of.metadata.get("facts")
            if one is None:
                continue
            if one.reads is not None:
                self.reads[key] = one.reads
                if one.reads.looks_up is not None:
                    self.deciding.add(one.reads.looks_up)
            if one.public and (of.origin is origin or _is_shared(owner)):
                self.public.add(key)
            if one.sized:
                self.sized[key] = one.sized
                self.sizing.add(one.sized)
            for below, reads in one.below.items():
                self.reads[f"{key}.{below}"] = reads
            for place, reads in one.under.items():
                self.reads[f"{place}.{name}"] = reads

    def _add_arguments(self, key: str, arguments: Mapping[str, GraphQLArgument]) -> None:
        for name, argument in arguments.items():
            fact: ArgumentFact | None = argument.extensions[_BACK].metadata.get("fact")
            if fact is None:
                continue
            self.arguments.setdefault(key, {})[name] = fact
            self.sizing.add(name)
            if isinstance(fact, Sorting):
                self.deciding.update(fact.by_filter, fact.in_stages)
            elif isinstance(fact, FullPages):
                self.deciding.update(fact.values)


def _is_shared(owner: GraphQLObjectType | GraphQLInterfaceType) -> bool:
    """Return whether inherited fields of a type can be public.

    The class of such a type has the attribute ``shared``. The type of a page or an edge is shared
    if the type of its rows is.
    """
    rows = [owner.fields[name].type for name in ("nodes", "node") if name in owner.fields]
    types = [owner, *(get_named_type(of) for of in rows)]
    return any(getattr(of.extensions[_BACK].origin, "shared", False) for of in types)
