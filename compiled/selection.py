"""A compiled selection set: executed for every object that it is selected of."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from graphql import GraphQLObjectType
from graphql.execution import Executor
from graphql.execution.collect_fields import GroupedFieldSet

from compiled.field import PLAIN, Field, ForeignField
from compiled.leaves import Leaves
from compiled.paths import PlainPath, path_of


class SelectionSet:
    """What is selected of one object type: its leaves, read first, and its other fields in order.

    Leaves have no effect and await nothing. Where one is out of the ordinary, graphql-core executes
    the whole set for that object: nothing of it has been executed yet.
    """

    def __init__(
        self,
        object_type: GraphQLObjectType,
        grouped: GroupedFieldSet,
        constant: Mapping[str, Any],
        leaves: Leaves | None,
        fields: Sequence[Field | ForeignField],
    ) -> None:
        self._type = object_type
        self._grouped = grouped
        self._blank = dict.fromkeys(grouped) | dict(constant)
        self._leaves = leaves
        self._fields = fields

    def execute(self, executor: Executor[Any], source: Any, path: PlainPath | None) -> Any:
        """Return the results for an object by response key, or an awaitable of them."""
        results: dict[str, Any] = self._blank.copy()
        if self._leaves is not None:
            try:
                results.update(zip(self._leaves.keys, self._leaves.read(source), strict=True))
            except Exception:  # noqa: BLE001 - graphql-core meets it again, and tells it
                return self._by_executor(executor, source, path)
        awaited: list[str] = []
        try:
            for field in self._fields:
                result = results[field.key] = field.execute(executor, source, path)
                if type(result) not in PLAIN and executor.is_awaitable(result):
                    awaited.append(field.key)
        except Exception:
            if awaited:
                executor.settle_in_background([results[key] for key in awaited])
            raise
        return _awaited(executor, results, awaited) if awaited else results

    def _by_executor(self, executor: Executor[Any], source: Any, path: PlainPath | None) -> Any:
        before = None if path is None else path_of(path)
        return executor.execute_fields(self._type, source, before, self._grouped, None)


async def _awaited(
    executor: Executor[Any], results: dict[str, Any], keys: list[str]
) -> dict[str, Any]:
    """Return results when the last of them is there; those under ``keys`` are awaited together."""
    if len(keys) == 1:
        results[keys[0]] = await results[keys[0]]
        return results
    waiting: list[Awaitable[Any]] = [results[key] for key in keys]
    results.update(zip(keys, await executor.gather_async_work(waiting), strict=True))
    return results
