"""Documents: each is parsed and checked once, and kept as long as there is room.

What is measured first is linear in the text, whatever its fragments repeat: GraphQL's own
validation may grow with the square of what a document says.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cachetools import LRUCache
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
)
from strawberry.extensions import SchemaExtension
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from dal.table.account import Account, opened
from schema.cost import Cost, QueryTooCostlyError, predicted
from schema.fragments import operations_of
from schema.introspection import NO_INTROSPECTION
from schema.limits import MAX_TOKENS, faults_of, faults_of_variables, has_too_many_units

MAX_TEXT = 30_000
MAX_ERRORS = 10
"""Faults that are told of a document; whoever mends these finds the others."""

KEPT_BYTES = 32_000_000
_TOKEN_BYTES = 600
"""What a token takes when it is parsed, about."""

PACED_VALUES = 2_000
"""An answer of more gives others turns of the event loop while it is made."""

_RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A parsed document, and what is wrong with it."""

    document: DocumentNode
    errors: list[GraphQLError]
    operations: int

    @property
    def bytes(self) -> int:
        """What it takes in memory, about."""
        text = len(self.document.loc.source.body) if self.document.loc else 0
        return text + _TOKEN_BYTES * min(MAX_TOKENS, text)


class DocumentCache:
    """The documents of one schema that were asked for last."""

    def __init__(self, schema: GraphQLSchema, *, introspection: bool = True) -> None:
        self.schema = schema
        self._rules = _RULES if introspection else (*_RULES, *NO_INTROSPECTION)
        self._kept: LRUCache[str, CheckedDocument] = LRUCache(KEPT_BYTES, lambda one: one.bytes)

    def checked(self, text: str) -> CheckedDocument:
        """Return a document; GraphQLError where it cannot be read at all."""
        found = self._kept.get(text)
        if found is None:
            found = self._kept[text] = self._check(text)
        return found

    def _check(self, text: str) -> CheckedDocument:
        if len(text) > MAX_TEXT:
            raise GraphQLError(
                f"The document has {len(text):,} characters; the most is {MAX_TEXT:,}: "
                "send long values as variables."
            )
        if has_too_many_units(text):
            raise GraphQLError(
                f"The document has more than {MAX_TOKENS:,} lexical units: ask for less at a time."
            )
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            errors = faults_of(document) or self._validate(document)
        except RecursionError:
            raise GraphQLError("The document is nested too deeply to be read.") from None
        return CheckedDocument(document, errors, len(operations_of(document)))

    def _validate(self, document: DocumentNode) -> list[GraphQLError]:
        return validate(
            self.schema,
            document,
            self._rules,
            max_errors=MAX_ERRORS,
            allow_empty_selection_sets=False,
        )


class Documents(SchemaExtension):
    """Gives each operation its document from a cache, and refuses what may not run."""

    def __init__(self, cache: DocumentCache) -> None:
        super().__init__()
        self._cache = cache
        self._cost: Cost | None = None
        self._account = Account()

    def on_parse(self) -> Iterator[None]:
        """Put the parsed document in place; GraphQLError where no operation can be chosen."""
        context = self.execution_context
        checked = self._cache.checked(context.query or "")
        name = context._provided_operation_name  # noqa: SLF001 - it has no public one
        if name is None and checked.operations > 1:
            raise GraphQLError(
                "The document has several operations: say in operationName which one to run."
            )
        context.graphql_document = checked.document
        self._errors = checked.errors
        yield

    def on_validate(self) -> Iterator[None]:
        """Put in place what was found wrong with the document, or with what it would cost."""
        context = self.execution_context
        context.pre_execution_errors = (
            self._errors or faults_of_variables(context.variables) or self._too_costly()
        )
        yield

    def on_execute(self) -> Iterator[None]:
        """Keep an account of what is asked of DynamoDB, and give others turns meanwhile."""
        context = self.execution_context
        assert self._cost is not None  # noqa: S101 - what is executed was validated
        if self._cost.values > PACED_VALUES and context.context is not None:
            context.context.pace.slow_down()
        with opened() as self._account:
            yield

    def get_results(self) -> dict[str, Any]:
        """Return ``extensions.cost`` when the request asks for it."""
        asked = self.execution_context.operation_extensions or {}
        if asked.get("cost") is not True or self._cost is None:
            return {}
        return {"cost": {"predicted": self._cost.rounded(), "actual": asdict(self._account)}}

    def _too_costly(self) -> list[GraphQLError]:
        context = self.execution_context
        document = context.graphql_document
        assert document is not None  # noqa: S101 - on_parse has put it in place
        operation = get_operation_ast(document, context.operation_name)
        assert operation is not None  # noqa: S101 - on_parse has looked for it
        self._cost = predicted(self._cache.schema, document, operation, context.variables or {})
        try:
            self._cost.check()
        except QueryTooCostlyError as error:
            return [GraphQLError(str(error), original_error=error)]
        return []
