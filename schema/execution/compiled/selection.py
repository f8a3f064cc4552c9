"""Selection sets as Python functions, which are executed for every object.

Leaves that are attributes come first: to read them has no effect and awaits nothing. Where one is
out of the ordinary, graphql-core executes the whole set for that object: nothing of it has been
executed yet. The other fields follow in the document's order.

The text of a function has names of the schema's attributes and response keys, both of them letters,
digits and underscores; everything else is bound to it by a number.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from graphql import GraphQLObjectType
from graphql.execution import Executor
from graphql.execution.collect_fields import GroupedFieldSet

from schema.execution.compiled.field import PLAIN, Field, ForeignField
from schema.execution.compiled.leaves import Leaf
from schema.execution.compiled.paths import PlainPath, path_of

Selection = Callable[[Executor[Any], Any, PlainPath | None], Any]
"""Returns the results for an object by response key, or an awaitable of them."""

_LEAVES = """
    try:{leaves}
    except Exception:
        return by_executor(executor, source, path)
"""
_LEAF = """
        v{n} = source.{attribute}
        if {unusual}: v{n} = leaf{n}(v{n})"""
_FIELD = """
        v{n} = field{n}(executor, source, path)
        if type(v{n}) not in PLAIN and executor.is_awaitable(v{n}): awaited[{key!r}] = v{n}"""
_DIRECT = """
        try: v{n} = {expression}
        except Exception as error:
            v{n} = failed{n}(executor, error, (path, {key!r}, {typename!r}))
        else:
            if type(v{n}) is not {exact}:
                v{n} = completed{n}(executor, v{n}, (path, {key!r}, {typename!r}))
                if type(v{n}) not in PLAIN and executor.is_awaitable(v{n}):
                    awaited[{key!r}] = v{n}"""
_FIELDS = """
    awaited = {{}}
    try:{fields}
    except Exception:
        if awaited: executor.settle_in_background(list(awaited.values()))
        raise
    if awaited: return of_awaited(executor, {results}, awaited)
"""


def selection_of(
    object_type: GraphQLObjectType,
    grouped: GroupedFieldSet,
    selected: Sequence[str | Leaf | Field | ForeignField],
) -> Selection:
    """Return what executes a selection set: constants, leaves and fields, as they are grouped."""
    bound: dict[str, Any] = {"PLAIN": PLAIN, "of_awaited": _of_awaited}
    keyed = list(zip(grouped, selected, strict=True))
    for n, (_, one) in enumerate(keyed):
        if isinstance(one, Leaf):
            bound[f"leaf{n}"] = one.result
        elif isinstance(one, Field) and one.expression is not None:
            bound[f"function{n}"] = one.function
            bound[f"failed{n}"] = one.failed
            bound[f"completed{n}"] = one.completed
        elif not isinstance(one, str):
            bound[f"field{n}"] = one.execute

    def by_executor(executor: Executor[Any], source: Any, path: PlainPath | None) -> Any:
        before = None if path is None else path_of(path)
        return executor.execute_fields(object_type, source, before, grouped, None)

    bound["by_executor"] = by_executor
    exec(_code(_text(keyed)), bound)  # noqa: S102 - of names alone
    selection: Selection = bound["selection"]
    return selection


def _text(keyed: Iterable[tuple[str, str | Leaf | Field | ForeignField]]) -> str:
    leaves = fields = results = ""
    for n, (key, one) in enumerate(keyed):
        results += f"{key!r}: {one!r}, " if isinstance(one, str) else f"{key!r}: v{n}, "
        if isinstance(one, Leaf):
            unusual = one.unusual(f"v{n}")
            leaves += _LEAF.format(n=n, attribute=one.attribute, unusual=unusual)
        elif isinstance(one, Field) and one.expression is not None:
            fields += _DIRECT.format(
                n=n,
                key=key,
                typename=one.parent_type.name,
                exact=one.exact,
                expression=one.expression.replace("function", f"function{n}"),
            )
        elif not isinstance(one, str):
            fields += _FIELD.format(n=n, key=key)
    text = "def selection(executor, source, path):"
    if leaves:
        text += _LEAVES.format(leaves=leaves)
    if fields:
        text += _FIELDS.format(fields=fields, results=f"{{{results}}}")
    return f"{text}\n    return {{{results}}}\n"


@lru_cache(maxsize=500)
def _code(text: str) -> CodeType:
    """Return the code of a text; many documents select the same of a type."""
    return compile(text, "<selection>", "exec")


async def _of_awaited(
    executor: Executor[Any], results: dict[str, Any], awaited: Mapping[str, Awaitable[Any]]
) -> dict[str, Any]:
    """Return results when the last of them is there; those of ``awaited`` are awaited together."""
    if len(awaited) == 1:
        ((key, one),) = awaited.items()
        results[key] = await one
        return results
    found = await executor.gather_async_work(list(awaited.values()))
    results.update(zip(awaited, found, strict=True))
    return results
