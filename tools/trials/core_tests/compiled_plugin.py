"""A pytest plugin with which graphql-core's executors run compiled operations where possible.

It is alone in its directory, because the tests of graphql-core are a package ``tests`` too.
"""

from collections import Counter
from collections.abc import Awaitable, Coroutine, Generator
from types import coroutine
from typing import Any

import pytest
from graphql import (
    DirectiveNode,
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    NoUnusedFragmentsRule,
    OperationType,
    specified_rules,
    validate,
    validate_schema,
)
from graphql.execution import Executor

from schema.execution.compiled.coercion import nodes_of
from schema.execution.compiled.operation import CompiledOperation

_OPTIONS = {"abort_signal": None, "hide_suggestions": False}
"""The options of the server's executors.

With other options, or with middleware, nothing is compiled.
"""

_plain = Executor.execute_operation
operations: Counter[str] = Counter()


def _execute(executor: Executor[Any], serially: bool | None = None) -> Any:
    operation = _compiled(executor) if serially is None else None
    selection = None if operation is None else operation.selection(executor.variable_values)
    if selection is None:
        operations["plain"] += 1
        return _plain(executor, serially)
    operations["compiled"] += 1
    try:
        data = selection(executor, executor.root_value, None)
        if executor.operation.operation is OperationType.MUTATION:
            return _begun(_awaited(executor, data))
        if executor.is_awaitable(data):
            return _awaited(executor, data)
    except GraphQLError as error:
        executor.collected_errors.add(error, None)
        data = None
    return executor.finish(executor.build_response(data))


def _compiled(executor: Executor[Any]) -> CompiledOperation | None:
    """Return the compiled operation, or None if the server would not compile it.

    The server compiles only valid documents of valid schemas.
    """
    usual = all(getattr(executor, name) is value for name, value in _OPTIONS.items())
    middleware = getattr(executor.middleware_manager, "middlewares", ())
    ours = type(executor).__module__.startswith(("graphql.", "strawberry."))
    if not usual or middleware or not ours:
        return None
    fragments = [details.definition for details in executor.fragments.values()]
    document = DocumentNode(definitions=(executor.operation, *fragments))
    rules = [rule for rule in specified_rules if rule is not NoUnusedFragmentsRule]
    try:
        errors = validate_schema(executor.schema) or validate(executor.schema, document, rules)
    except RecursionError:
        return None
    directives = {node.name.value for node in nodes_of(document) if isinstance(node, DirectiveNode)}
    if errors or directives & {"defer", "stream"}:
        return None
    return CompiledOperation(executor.schema, document, executor.operation)


def _begun(running: Coroutine[Any, Any, ExecutionResult]) -> Any:
    """Return the result if nothing has to be awaited, else an awaitable of it.

    Compiled mutations are coroutines, as in the server, but many tests call them synchronously.
    """
    try:
        waits_for = running.send(None)
    except StopIteration as end:
        return end.value
    return _continued(running, waits_for)


@coroutine
def _continued(running: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    yield waits_for
    return (yield from running.__await__())


async def _awaited(executor: Executor[Any], data: Awaitable[Any]) -> ExecutionResult:
    try:
        found = await data
    except GraphQLError as error:
        executor.collected_errors.add(error, None)
        found = None
    return executor.build_response(found)  # type: ignore[return-value]


def pytest_configure() -> None:
    """Let every executor run compiled operations."""
    Executor.execute_operation = _execute  # type: ignore[assignment, method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of operations that ran compiled."""
    told = f"operations: {operations['compiled']} compiled, {operations['plain']} plain"
    terminalreporter.write_line(told)
