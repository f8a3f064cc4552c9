"""Fields and selection sets as Python functions, which are called for every object.

The function of a selection set first reads the leaf fields that are attributes. Reading them has no
side effects. So if one of the values is unusual, for example null in a non-null field, graphql-core
can still execute the whole set for the object. Afterwards, the function executes the other fields
in the order of the document. It handles errors and awaitables in the same way as graphql-core's
``Executor.execute_field``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol, cast

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from graphql.pyutils import Path

from schema.execution.compiled.answer_size import LONG, SMALL, AnswerSize, bytes_of
from schema.execution.compiled.coercion import Leaf, exact_class, usual_value

PLAIN: frozenset[type] = frozenset({dict, list, str, int, float, bool, type(None)})
"""Classes of results that are never awaitable."""

PlainPath = tuple[Any, str | int, str | None]
"""A path in the response: the path of the parent, the key or index, and the parent type's name.
graphql-core's ``Path`` has the same three members, but a tuple is created faster. Few paths are
ever read; ``path_of`` converts these."""

Resolve = Callable[[Executor[Any], "Field", Any, PlainPath], Any]
"""Returns the value of a field for an object, or an awaitable of it."""

Execute = Callable[[Executor[Any], Any, PlainPath | None], Any]
"""Returns the result of a field for an object, or an awaitable of it."""

Selection = Execute
"""Returns the results for an object by response key, or an awaitable of them."""


def path_of(plain: PlainPath) -> Path:
    """Return a path as graphql-core's ``Path``."""
    before, key, typename = plain
    return Path(None if before is None else path_of(before), key, typename)


class FieldInstruments(Protocol):
    """Observes the fields whose results are awaited, for example to trace their duration.

    Other fields are not observed.
    """

    async def field(self, type_name: str, name: str, result: Awaitable[Any]) -> Any:
        """Await and return the result of a field and all fields below it, or raise its error."""


FIELD_INSTRUMENTS: ContextVar[FieldInstruments | None] = ContextVar(
    "field_instruments", default=None
)
"""The observer of the current request's fields; None for most requests."""


def observed(type_name: str, name: str, result: Awaitable[Any]) -> Awaitable[Any]:
    """Return an awaitable of a field's result.

    If the request has an observer, the observer awaits ``result``. Otherwise return ``result``.
    """
    instruments = FIELD_INSTRUMENTS.get()
    return result if instruments is None else instruments.field(type_name, name, result)


Complete = Callable[[Executor[Any], Any, PlainPath], Any]
"""Converts a field's value to the field's result. Returns the result, or an awaitable of it. Raises
the field's error."""


class Slot:
    """A place in the result for a value of one type: a field, or an item of a list."""

    complete: Complete

    def __init__(self, type_: GraphQLOutputType, details: FieldDetailsList) -> None:
        self.type = type_
        self.details = details

    def failed(self, executor: Executor[Any], error: Exception, path: PlainPath) -> None:
        """Record an error, and return None as the result.

        If the type is non-null, raise the error instead, so that the parent becomes null.
        """
        executor.handle_field_error(error, self.type, self.details, path_of(path))

    async def of_awaitable(
        self, executor: Executor[Any], value: Awaitable[Any], path: PlainPath
    ) -> Any:
        """Await a field's value, and return the result of the value."""
        try:
            result = self.complete(executor, await value, path)
            if type(result) not in PLAIN and executor.is_awaitable(result):
                result = await result
        except Exception as error:  # noqa: BLE001 - graphql-core catches any too
            return self.failed(executor, error, path)
        return result

    async def of_result(
        self, executor: Executor[Any], result: Awaitable[Any], path: PlainPath
    ) -> Any:
        """Await a result and return it. If awaiting raises an error, call ``failed``."""
        try:
            return await result
        except Exception as error:  # noqa: BLE001 - graphql-core catches any too
            return self.failed(executor, error, path)


class Field(Slot):
    """A field of a selection set with its response key and all its nodes in the document."""

    resolve: Resolve
    expression: str | None = None
    """A Python expression for the field's value, with the names of ``selection_of``'s function.
    ``{n}`` is the field's number, ``{key!r}`` its response key, ``{typename!r}`` its parent type.

    None if ``resolve`` returns the value.
    """
    names: Mapping[str, object] = {}
    """The objects of other names in ``expression``. The key of each is followed by the number of
    the field in its selection set."""
    objects: Any = None
    """The ``ObjectCompletion`` of the field's values; None if the type is not an object type."""

    def __init__(
        self,
        parent_type: GraphQLObjectType,
        field: GraphQLField,
        key: str,
        details: FieldDetailsList,
    ) -> None:
        super().__init__(field.type, details)
        self.parent_type = parent_type
        self.definition = field
        self.key = key
        self.nodes: list[FieldNode] = [detail.node for detail in details]
        self.name = self.nodes[0].name.value
        self.memo: dict[Any, Any] = {}
        self._parent_name = parent_type.name
        self._last_class: type = str

    def execute(self, executor: Executor[Any], source: Any, parent: PlainPath | None) -> Any:
        """Return the field's result for an object, or an awaitable of it."""
        path = (parent, self.key, self._parent_name)
        try:
            value = self.resolve(executor, self, source, path)
        except Exception as error:  # noqa: BLE001 - graphql-core catches any too
            return self.failed(executor, error, path)
        return self.completed(executor, value, path)

    def completed(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result of a resolved value, or an awaitable of it."""
        try:
            if type(value) is not self._last_class:
                if executor.is_awaitable(value):
                    awaited = self.of_awaitable(executor, value, path)
                    return observed(self._parent_name, self.name, awaited)
                self._last_class = type(value)
            result = self.complete(executor, value, path)
        except Exception as error:  # noqa: BLE001 - graphql-core catches any too
            return self.failed(executor, error, path)
        if type(result) not in PLAIN and executor.is_awaitable(result):
            return self.pending(executor, result, path)
        return result

    def pending(
        self, executor: Executor[Any], result: Awaitable[Any], path: PlainPath
    ) -> Awaitable[Any]:
        """Return an awaitable of an awaitable result, which calls ``failed`` for an error."""
        awaited = self.of_result(executor, result, path)
        return observed(self._parent_name, self.name, awaited)


_OF_FIELD = {
    "memo": "memo",
    "field_name": "name",
    "field_nodes": "nodes",
    "return_type": "type",
    "parent_type": "parent_type",
}
_OF_EXECUTOR = {"fragments": "fragment_definitions"}
"""Attributes of GraphQLResolveInfo that have another name in ``Field`` or in the executor."""


class ResolveInfo:
    """Replaces graphql-core's GraphQLResolveInfo. Each attribute is computed only when it is read.

    ``memo`` is a dictionary of the compiled field. A resolver may store values there that depend
    only on the document.
    """

    __slots__ = ("_executor", "_field", "_plain_path")

    def __init__(self, executor: Executor[Any], field: Field, path: PlainPath) -> None:
        self._executor = executor
        self._field = field
        self._plain_path = path

    @property
    def path(self) -> Path:
        """The field's path in the response."""
        return path_of(self._plain_path)

    @property
    def context(self) -> Any:
        """The request's context."""
        return self._executor.context_value

    @property
    def variable_values(self) -> dict[str, Any]:
        """The operation's coerced variables, in the form that Strawberry expects."""
        return self._executor.variable_values.coerced

    def __getattr__(self, name: str) -> Any:
        if name in _OF_FIELD:
            return getattr(self._field, _OF_FIELD[name])
        return getattr(self._executor, _OF_EXECUTOR.get(name, name))


# Only names are copied into these templates, such as attributes and response keys. Names consist of
# letters, digits and underscores. All other objects are passed as numbered variables such as
# `field3`. So a client's document cannot inject code.
_BELONGS = """
    if type(source) is not completion.usual and not belongs:
        return completion.complete(executor, source, path)"""
_LEAVES = """
    try:{leaves}
    except Exception:
        return by_executor(executor, source, path)
"""
_LEAF = """
        v{n} = source.{attribute}
        if not {usual}:
            if type(v{n}) is not leaf{n}.usual: leaf{n}.check_value(v{n})
            v{n} = coerce{n}(v{n})
            if type(v{n}) is not str: leaf{n}.check_result(v{n})"""
_SIZE = """
    size = {fixed}{lengths}
    if size > {long} and answer.bytes > {small}: size = {fixed} + bytes_of({texts})"""
# Without a call of ``AnswerSize.add`` for each object.
_COUNT = """
    answer.values += {count}
    answer.bytes += {size}
    if answer.values > answer.most or answer.bytes > answer.most_bytes: answer.add(0, 0)"""
_FIELD = """
        v{n} = field{n}(executor, source, path)
        if type(v{n}) not in PLAIN and executor.is_awaitable(v{n}): awaited[{key!r}] = v{n}"""
_DIRECT = """
        try: v{n} = {expression}
        except Exception as error:
            v{n} = failed{n}(executor, error, (path, {key!r}, {typename!r}))
        else:
            {empty}if not {usual}:
                v{n} = completed{n}(executor, v{n}, (path, {key!r}, {typename!r}))
                if type(v{n}) not in PLAIN and executor.is_awaitable(v{n}):
                    awaited[{key!r}] = v{n}"""
_EMPTY = """if (type(v{n}) is tuple or type(v{n}) is list) and not v{n}: v{n} = []
            el"""
# As ``Field.completed``, without a call for each object.
_DIRECT_OBJECT = """
        try:
            v{n} = {expression}
            usual = type(v{n}) is objects{n}.usual
            if usual:
                v{n} = objects{n}.selection(executor, v{n}, (path, {key!r}, {typename!r}), True)
        except Exception as error:
            v{n} = failed{n}(executor, error, (path, {key!r}, {typename!r}))
        else:
            if not usual:
                v{n} = completed{n}(executor, v{n}, (path, {key!r}, {typename!r}))
                if type(v{n}) not in PLAIN and executor.is_awaitable(v{n}):
                    awaited[{key!r}] = v{n}
            elif type(v{n}) is not dict:
                v{n} = pending{n}(executor, v{n}, (path, {key!r}, {typename!r}))
                awaited[{key!r}] = v{n}"""
_DIRECT_TEXT = """
            elif v{n} and len(v{n}) > {long}: executor.answer.add_text(v{n})"""
_FIELDS = """
    awaited = {{}}
    try:{fields}
    except Exception:
        if awaited: executor.settle_in_background(list(awaited.values()))
        raise
    if awaited: return of_awaited(executor, {results}, awaited)
"""

Selected = str | Leaf | Field | Execute
"""The compiled form of one selected field. For ``__typename`` it is the value, a string."""


def selection_of(
    object_type: GraphQLObjectType,
    grouped: GroupedFieldSet,
    selected: Sequence[Selected],
    completion: object = None,
) -> Selection:
    """Return the function of a selection set.

    ``selected`` has the compiled form of each field, in the order of ``grouped``. ``completion`` is
    the ``ObjectCompletion`` of the set; None for the operation's root.
    """

    def by_executor(executor: Executor[Any], source: Any, path: PlainPath | None) -> Any:
        before = None if path is None else path_of(path)
        return executor.execute_fields(object_type, source, before, grouped, None)

    bound = {
        "PLAIN": PLAIN,
        "of_awaited": of_awaited,
        "by_executor": by_executor,
        "bytes_of": bytes_of,
        "completion": completion,
    }
    leaves = fields = results = ""
    for n, (key, item) in enumerate(zip(grouped, selected, strict=True)):
        results += f"{key!r}: {item!r}, " if isinstance(item, str) else f"{key!r}: v{n}, "
        if isinstance(item, Leaf):
            bound[f"leaf{n}"], bound[f"coerce{n}"] = item, item.coerce
            usual = usual_value(item.declared, f"v{n}")
            leaves += _LEAF.format(n=n, attribute=item.attribute, usual=usual)
        elif isinstance(item, Field) and item.expression is not None:
            nullable = get_nullable_type(item.type)
            bound |= {f"{name}{n}": value for name, value in item.names.items()}
            bound[f"failed{n}"] = item.failed
            bound[f"completed{n}"] = item.completed
            bound[f"objects{n}"], bound[f"pending{n}"] = item.objects, item.pending
            fields += (_DIRECT if item.objects is None else _DIRECT_OBJECT).format(
                n=n,
                key=key,
                typename=item.parent_type.name,
                usual=usual_value(item.type, f"v{n}") if is_leaf_type(nullable) else "False",
                empty=_EMPTY.format(n=n) if is_list_type(nullable) else "",
                expression=item.expression.format(n=n, key=key, typename=item.parent_type.name),
            )
            if exact_class(item.type) is str:
                fields += _DIRECT_TEXT.format(n=n, long=LONG)
        elif not isinstance(item, str):
            bound[f"field{n}"] = item.execute if isinstance(item, Field) else item
            fields += _FIELD.format(n=n, key=key)
    text = "def selection(executor, source, path, belongs=False):"
    if completion is not None:
        text += _BELONGS
    if leaves:
        text += _LEAVES.format(leaves=leaves)
    text += _counting(grouped, selected)
    if fields:
        text += _FIELDS.format(fields=fields, results=f"{{{results}}}")
    exec(_code(f"{text}\n    return {{{results}}}\n"), bound)  # noqa: S102 - the text contains only names
    return cast("Selection", bound["selection"])


def _counting(keys: Iterable[str], selected: Sequence[Selected]) -> str:
    """Return statements that count the values and bytes of a selection set.

    ``executor.execute_field`` counts the fields that are functions. ``_DIRECT_TEXT`` and
    ``LeafCompletion`` count texts that are not attributes.
    """
    named = zip(keys, selected, strict=True)
    sizes = [bytes_of_key(key) for key, item in named if isinstance(item, str | Leaf | Field)]
    texts = [
        f"v{n}"
        for n, item in enumerate(selected)
        if isinstance(item, Leaf) and exact_class(item.declared) is str
    ]
    count, fixed = len(sizes), sum(sizes)
    answer = "\n    answer = executor.answer"
    if not texts:
        return answer + _COUNT.format(count=count, size=fixed)
    measured = _SIZE.format(
        fixed=fixed,
        lengths="".join(f" + len({text} or '')" for text in texts),
        long=fixed + LONG,
        small=SMALL,
        texts=", ".join(texts),
    )
    return answer + measured + _COUNT.format(count=count, size="size")


def bytes_of_key(key: str) -> int:
    """Return the minimum bytes of a response key with its value: ``"key":0,``."""
    return len(key) + 5


@lru_cache(maxsize=500)
def _code(text: str) -> CodeType:
    """Return the code object of a Python text.

    The code objects are cached, because many documents select the same fields.
    """
    return compile(text, "<selection>", "exec")


def serially(selections: Sequence[Selection]) -> Selection:
    """Return the function of a mutation's root, which executes the fields one after another."""

    async def selection(executor: Executor[Any], source: Any, path: PlainPath | None) -> Any:
        results: dict[str, Any] = {}
        for one in selections:
            found = one(executor, source, path)
            results |= found if type(found) is dict else await found
        return results

    return selection


async def of_awaited(
    executor: Executor[Any], results: Any, awaited: Mapping[Any, Awaitable[Any]]
) -> Any:
    """Await the results in ``awaited`` together, and return all results.

    The keys of ``awaited`` are response keys, or indexes of a list.
    """
    if len(awaited) == 1:
        ((key, result),) = awaited.items()
        results[key] = await result
        return results
    for key, result in zip(
        awaited, await executor.gather_async_work(list(awaited.values())), strict=True
    ):
        results[key] = result
    return results


async def in_turns(
    executor: Executor[Any], items: Sequence[Any], of_item: Callable[[int, Any], Any]
) -> list[Any]:
    """Return the results of a list's items, which are completed in several turns of the event loop.

    ``of_item`` returns the result of an item, or an awaitable of it.
    """
    answer: AnswerSize = executor.answer  # type: ignore[attr-defined] # LateExecutor
    results: list[Any] = []
    awaited: dict[int, asyncio.Future[Any]] = {}
    try:
        for index, item in enumerate(items):
            while answer.due:
                await answer.turn(len(items) - index)
            result = of_item(index, item)
            if type(result) not in PLAIN and executor.is_awaitable(result):
                awaited[index] = asyncio.ensure_future(result)
            results.append(result)
    except BaseException:
        for task in awaited.values():
            task.cancel()
        left = [item for item in items[len(results) + 1 :] if executor.is_awaitable(item)]
        if unsettled := [*awaited.values(), *left]:
            executor.settle_in_background(unsettled)
        raise
    return cast("list[Any]", await of_awaited(executor, results, awaited)) if awaited else results
