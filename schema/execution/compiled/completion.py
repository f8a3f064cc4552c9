"""Completing values: what graphql-core's ``complete_value`` does, for values as they usually are.

Everything else is completed by graphql-core: null, an exception, a value of another type.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from graphql import GraphQLOutputType, Undefined
from graphql.execution import Executor

from schema.execution.compiled.field import PLAIN, Completion, Field, ResolveInfo, Slot
from schema.execution.compiled.leaves import exact_class
from schema.execution.compiled.paths import PlainPath, path_of
from schema.execution.compiled.selection import Selection


class ForeignCompletion:
    """Completes values of any type by graphql-core's executor."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        self.field = field
        self.type = type_

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result, or an awaitable of it."""
        field, where = self.field, path_of(path)
        info = executor.build_resolve_info(field.definition, field.nodes, field.parent_type, where)
        return executor.complete_value(self.type, field.details, info, where, value, None)


class LeafCompletion(ForeignCompletion):
    """Completes values of a scalar or an enum: at once those that are results already."""

    def __init__(self, field: Field, type_: GraphQLOutputType) -> None:
        super().__init__(field, type_)
        self._exact = exact_class(type_)

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the result."""
        if type(value) is self._exact:
            return value
        return super().complete(executor, value, path)


class ObjectCompletion(ForeignCompletion):
    """Completes values of an object type."""

    def __init__(
        self,
        field: Field,
        type_: GraphQLOutputType,
        is_type_of: Callable[..., Any] | None,
        selection: Selection,
    ) -> None:
        super().__init__(field, type_)
        self._is_type_of = is_type_of
        self._selection = selection
        self._kind: type = type(self)  # the class of the last value: an object of the schema's

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of what is selected of the object, or an awaitable of them."""
        if type(value) is not self._kind:
            if value is None or value is Undefined or isinstance(value, Exception):
                return super().complete(executor, value, path)
            self._kind = type(value)
        if self._is_type_of is not None:
            shown = self._is_type_of(value, ResolveInfo(executor, self.field, path))
            if shown is not True:
                return super().complete(executor, value, path)
        return self._selection(executor, value, path)


class ListCompletion(ForeignCompletion):
    """Completes lists and tuples, item by item."""

    def __init__(
        self, field: Field, type_: GraphQLOutputType, item_type: GraphQLOutputType, item: Completion
    ) -> None:
        super().__init__(field, type_)
        self._items = Slot(item_type, field.details)
        self._items.completion = item
        self._settled: type = str

    def complete(self, executor: Executor[Any], value: Any, path: PlainPath) -> Any:
        """Return the results of the items, or an awaitable of them."""
        if type(value) is not list and type(value) is not tuple:
            return super().complete(executor, value, path)
        results: list[Any] = []
        awaited: list[int] = []
        settled, complete = self._settled, self._items.completion.complete
        try:
            for index, item in enumerate(value):
                if type(item) is settled:
                    try:
                        result = complete(executor, item, (path, index, None))
                    except Exception as error:  # noqa: BLE001 - as graphql-core: any that it raises
                        self._items.failed(executor, error, (path, index, None))
                        result = None
                else:
                    result = self._of_item(executor, item, (path, index, None))
                    settled = self._settled
                if type(result) not in PLAIN and executor.is_awaitable(result):
                    result = self._items.of_result(executor, result, (path, index, None))
                    awaited.append(index)
                results.append(result)
        except Exception:
            self._settle(executor, [results[index] for index in awaited], value[len(results) + 1 :])
            raise
        return _awaited(executor, results, awaited) if awaited else results

    def _of_item(self, executor: Executor[Any], item: Any, path: PlainPath) -> Any:
        """Return the result of an item of another class than the last, or an awaitable of it."""
        if executor.is_awaitable(item):
            return self._items.of_awaitable(executor, item, path)
        self._settled = type(item)
        try:
            return self._items.completion.complete(executor, item, path)
        except Exception as error:  # noqa: BLE001 - as above
            return self._items.failed(executor, error, path)

    @staticmethod
    def _settle(executor: Executor[Any], begun: list[Awaitable[Any]], left: Sequence[Any]) -> None:
        """Let what was begun end in the background, after an error that nulls the list."""
        waiting = begun + [item for item in left if executor.is_awaitable(item)]
        if waiting:
            executor.settle_in_background(waiting)


async def _awaited(executor: Executor[Any], results: list[Any], indices: list[int]) -> list[Any]:
    """Return results when the last of them is there; those at ``indices`` are awaited together."""
    if len(indices) == 1:
        results[indices[0]] = await results[indices[0]]
        return results
    waiting = [results[index] for index in indices]
    for index, result in zip(indices, await executor.gather_async_work(waiting), strict=True):
        results[index] = result
    return results
