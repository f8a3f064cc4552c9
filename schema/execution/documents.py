"""Documents: each is parsed and checked once, and kept as long as there is room.

The measurement before validation is linear in the text, however often fragments repeat; GraphQL's
validation may take the square of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cachetools import LRUCache
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    parse,
    specified_rules,
    validate,
)
from graphql.validation.rules import overlapping_fields_can_be_merged as merging
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from dal.limits import (
    KEPT_BYTES,
    MAX_COMPARISONS,
    MAX_DOCUMENT,
    MAX_DOCUMENT_ERRORS,
    MAX_TOKENS,
    TRUSTED_BYTES,
)
from schema.execution.compiled.operation import CompiledOperation
from schema.execution.cost import PredictedCosts
from schema.execution.fragments import operations_of
from schema.execution.introspection import NO_INTROSPECTION
from schema.execution.measure import faults_of, units_of
from schema.execution.processor_time import charged
from schema.execution.visibility import is_impersonal, is_public

merging.MAX_COMPLEXITY_BUDGET = MAX_COMPARISONS

_ABORTED = "Validation aborted."
"""graphql-core's error beyond that number of comparisons."""

_TOO_MANY = (
    "The document selects too many fields and fragments of the same object: "
    "select each field once, and spread fewer fragments."
)

PLAINLY = 1
"""Executions before an operation is compiled: that takes as long as to validate it, and many are
sent once."""

_UNIT_BYTES = 1_100
"""What a lexical unit takes when it is parsed and compiled, about."""

_RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)


class Operation:
    """One operation of a document without errors, compiled after ``plainly`` executions."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        node: OperationDefinitionNode,
        plainly: int,
    ) -> None:
        self.node = node
        self._of = schema, document, node
        self._plainly = plainly

    @cached_property
    def compiled(self) -> CompiledOperation:
        """What is executed."""
        return CompiledOperation(*self._of, plainly=self._plainly)

    @cached_property
    def costs(self) -> PredictedCosts:
        """What it is expected to take."""
        return PredictedCosts(*self._of)

    @cached_property
    def impersonal(self) -> bool:
        """Whether it looks up nothing that belongs to a user or an organisation."""
        return is_impersonal(self._of[1], self.node)

    @cached_property
    def public(self) -> bool:
        """Whether its results without errors are for everybody."""
        return is_public(*self._of)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A parsed document and its errors."""

    document: DocumentNode
    errors: list[GraphQLError]
    operations: Sequence[Operation]
    bytes: int
    """What it takes in memory, about."""

    def operation(self, name: str | None) -> Operation | None:
        """Return the operation of a name, or the first; None where there is none."""
        for one in self.operations:
            if name is None or (one.node.name is not None and one.node.name.value == name):
                return one
        return None


class DocumentCache:
    """Caches parsed documents by last use; trusted documents have separate room."""

    def __init__(self, schema: GraphQLSchema, *, introspection: bool = True) -> None:
        self.schema = schema
        self._rules = _RULES if introspection else (*_RULES, *NO_INTROSPECTION)
        self._kept = _room(KEPT_BYTES)
        self._trusted = _room(TRUSTED_BYTES)

    def checked(self, text: str) -> CheckedDocument:
        """Return a document; GraphQLError where it cannot be read at all."""
        found = self._trusted.get(text) or self._kept.get(text)
        if found is None:
            with charged():
                found = self._kept[text] = self._check(text, PLAINLY)
        return found

    def trusted(self, text: str) -> CheckedDocument:
        """Return a document that is to be kept among the trusted ones; it is compiled at once.

        GraphQLError where it cannot be read at all.
        """
        found = self._trusted.get(text)
        if found is None:
            with charged():
                found = self._trusted[text] = self._check(text, 0)
        return found

    def is_trusted(self, text: str) -> bool:
        """Return whether a text is kept among the trusted ones."""
        return text in self._trusted

    def _check(self, text: str, plainly: int) -> CheckedDocument:
        if len(text) > MAX_DOCUMENT:
            raise GraphQLError(
                f"The document has {len(text):,} characters; the most is {MAX_DOCUMENT:,}: "
                "send long values as variables."
            )
        units = units_of(text)
        if units > MAX_TOKENS:
            raise GraphQLError(
                f"The document has more than {MAX_TOKENS:,} lexical units: select less at a time."
            )
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            errors = faults_of(document) or self._validate(document)
        except RecursionError:
            raise GraphQLError("The document is nested too deeply to be read.") from None
        nodes = operations_of(document)
        operations = [Operation(self.schema, document, one, plainly) for one in nodes]
        return CheckedDocument(document, errors, operations, len(text) + _UNIT_BYTES * units)

    def _validate(self, document: DocumentNode) -> list[GraphQLError]:
        errors = validate(
            self.schema,
            document,
            self._rules,
            max_errors=MAX_DOCUMENT_ERRORS,
            allow_empty_selection_sets=False,
        )
        return [GraphQLError(_TOO_MANY) if one.message == _ABORTED else one for one in errors]


def _room(size: int) -> LRUCache[str, CheckedDocument]:
    return LRUCache(size, lambda one: one.bytes)
