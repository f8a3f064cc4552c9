"""Parses and validates each document once, and caches it.

The CPU time of this work counts as further requests in the client's rate limit.
"""

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from math import inf
from time import thread_time
from typing import Any

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
from graphql.execution.values import VariableValues
from graphql.validation import NoSchemaIntrospectionCustomRule, ValuesOfCorrectTypeRule
from graphql.validation.rules import overlapping_fields_can_be_merged as merging
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule
from strawberry.types.graphql import OperationType

from schema.execution.compiled.operation import MAX_CONDITIONS, CompiledOperation, conditions_in
from schema.execution.cost import MAX_VARIABLE_VALUES, PredictedCosts
from schema.execution.facts import SchemaFacts
from schema.execution.input_errors import ValueRule, variable_errors
from schema.execution.selections import faults_of, operations_of
from schema.execution.visibility import is_impersonal, is_public

MAX_DOCUMENT = 20_000
"""Maximum characters of a GraphQL document. Parsing a long string takes up to 0.4 µs for each
character, and meanwhile the process serves no other request."""

MAX_TOKENS = 1_000
"""Maximum lexical units of a document: its names, values, punctuation and comments. Parsing,
validation and compilation take some microseconds for each unit, and meanwhile the process serves no
other request. GraphiQL's introspection query has 160 units."""

MAX_COMPARISONS = 20_000
"""Maximum steps of one validation rule of graphql-core. The rule checks that fields with the same
response key can be merged. The number of steps grows with the square of an object's fields and
fragments. 20,000 steps take 15 ms. The document of a web page with 15 components, each with
fragments, takes 7,000 steps. graphql-core's own limit is 500,000 steps."""

MAX_DOCUMENT_ERRORS = 10
"""Maximum validation errors in a response. When the client has fixed these errors, the next
response lists more."""

KEPT_BYTES = 32_000_000
TRUSTED_BYTES = 128_000_000
"""Maximum bytes of the two caches of parsed documents. ``KEPT_BYTES`` is for the cache of clients'
documents, and holds about 100 documents of 300 lexical units. ``TRUSTED_BYTES`` is for the cache of
trusted documents, which the operator provides, and holds about 400 of them. With separate caches,
clients' documents cannot evict trusted documents. A document that is not in a cache is parsed and
validated for each request."""


merging.MAX_COMPLEXITY_BUDGET = MAX_COMPARISONS

_ABORTED = "Validation aborted."
"""graphql-core's error message if the rule for conflicting fields needs more than MAX_COMPARISONS
steps."""

_TOO_MANY = (
    "The document selects too many fields and fragments of the same object: "
    "select each field once, and spread fewer fragments."
)

PLAINLY = 1
"""graphql-core executes an operation this number of times before the server compiles it to Python
functions. Compiling takes as long as validating, which is too long for the many operations that
are sent only once."""

_PARSED_BYTES, _COMPILED_BYTES = 700, 400
"""Approximate bytes of memory per lexical unit of a document: for the parsed document, and for each
of its compiled forms."""

_RULES = (
    *(ValueRule if rule is ValuesOfCorrectTypeRule else rule for rule in specified_rules),
    MaybeNullValidationRule,
    OneOfInputValidationRule,
)

_UNIT = re.compile(
    r'"""(?:[^"\\]++|\\"""|\\|"(?!""))*(?:""")?'
    r'|"(?:[^"\\\n\r]++|\\.)*+"?'
    r"|#[^\n\r]*+|[_A-Za-z][_0-9A-Za-z]*+|\.\.\.|[!$&():=@\[\]{|}]|-?[0-9][-+.0-9eE]*+"
)
"""Matches a lexical unit, or a string without an end. If such a string did not match, the search
would scan its text again from each later quotation mark, and the time could grow with the square of
the length. The first repetition is not possessive, because Python 3.11.2 repeats a look-ahead in a
possessive repetition without its condition."""

_charge: ContextVar[Callable[[float], object] | None] = ContextVar("charge", default=None)


@contextmanager
def charging(charge: Callable[[float], object]) -> Iterator[None]:
    """Within the ``with`` block, call ``charge`` with the CPU seconds of each ``charged`` block."""
    token = _charge.set(charge)
    try:
        yield
    finally:
        _charge.reset(token)


class charged:  # noqa: N801 - named like contextlib's classes
    """Charges the CPU time of the ``with`` block to the request's client.

    The block must not await, because the work of other requests would be charged, too.

    Garbage collection is off in the block. Parsing and validating a document can create 20,000
    objects, which would start several collections. The collections would take a third of the
    block's time and free nothing, because all the objects are in use. A collection of all
    generations takes up to 0.3 s, because it also visits the objects of other clients.
    """

    # Every request enters one. A generator with ``contextmanager`` takes twice as long.
    __slots__ = ("_began", "_charge", "_collects")

    def __enter__(self) -> None:
        self._charge, self._collects = _charge.get(), gc.isenabled()
        self._began = 0.0 if self._charge is None else thread_time()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        try:
            if self._charge is not None:
                self._charge(thread_time() - self._began)
        finally:
            if self._collects:
                gc.enable()


class CheckedOperation:
    """One operation of a checked document.

    graphql-core executes it ``plainly`` times. For later executions, the operation is compiled.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        node: OperationDefinitionNode,
        facts: SchemaFacts,
        plainly: float,
    ) -> None:
        self.node = node
        self.kind = OperationType(node.operation.value)
        self._of = schema, document, node
        self._facts = facts
        self._plainly = plainly

    @cached_property
    def compiled(self) -> CompiledOperation:
        """The executable form of the operation."""
        return CompiledOperation(*self._of, plainly=self._plainly)

    def coerced(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Return the coerced variables of a request, or their errors."""
        values = self.compiled.coerced(inputs)
        if not isinstance(values, list):
            return values
        try:
            return variable_errors(self._of[0], self.node, inputs) or values
        except RecursionError:  # a message contains a value with 1,000 levels
            return [GraphQLError("The variables are nested too deeply to be read.")]

    @cached_property
    def costs(self) -> PredictedCosts:
        """Predicts the cost of the operation for given variables."""
        return PredictedCosts(*self._of, self._facts)

    @cached_property
    def impersonal(self) -> bool:
        """Whether the operation reads no private object of a user or an organisation."""
        return is_impersonal(*self._of, self._facts.public)

    @cached_property
    def public(self) -> bool:
        """Whether every client gets the same result. Errors can differ between clients."""
        return is_public(*self._of, self._facts.public)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A parsed document and its validation errors."""

    document: DocumentNode
    errors: list[GraphQLError]
    operations: Sequence[CheckedOperation]
    bytes: int
    """The approximate size in memory."""

    def operation(self, name: str | None) -> CheckedOperation:
        """Return the operation with this name. Without a name, return the only operation.

        Raises GraphQLError if there is no such operation, or if ``name`` is missing and the
        document has several operations.
        """
        if name is None and len(self.operations) > 1:
            raise GraphQLError(
                "The document has several operations: name the operation to run in operationName."
            )
        for operation in self.operations:
            own = operation.node.name
            if name is None or (own is not None and own.value == name):
                return operation
        if name is None:
            raise GraphQLError(
                "The document has no operation: add a query, a mutation or a subscription."
            )
        raise GraphQLError(f"The document has no operation with the name {name!r}.")


class DocumentCache:
    """A cache of checked documents, by text. The least recently used documents are evicted first.

    Trusted documents, which the operator has registered, have a separate limit, so that other
    documents cannot evict them.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        facts: SchemaFacts,
        *,
        introspection: bool = True,
        compiles: bool = True,
    ) -> None:
        self.schema = schema
        self._compiles = compiles
        self._facts = facts
        self._rules = _RULES if introspection else (*_RULES, NoSchemaIntrospectionCustomRule)
        self._kept = _room(KEPT_BYTES)
        self._trusted = _room(TRUSTED_BYTES)

    def known(self, text: str) -> CheckedDocument | None:
        """Return a cached document, or None."""
        return self._trusted.get(text) or self._kept.get(text)

    def checked(self, text: str) -> CheckedDocument:
        """Return a document with its validation errors.

        Raises GraphQLError if the document is too long, is nested too deeply or cannot be parsed.
        """
        found = self.known(text)
        if found is None:
            with charged():
                found = self._kept[text] = self._check(text, PLAINLY)
        return found

    def trusted(self, text: str) -> CheckedDocument:
        """Return a document, and cache it as a trusted document.

        Each operation is compiled when it is first executed. Raises GraphQLError in the same cases
        as ``checked``.
        """
        found = self._trusted.get(text)
        if found is None:
            with charged():
                found = self._trusted[text] = self._check(text, 0)
        return found

    def is_trusted(self, text: str) -> bool:
        """Return whether a text is cached as a trusted document."""
        return text in self._trusted

    def _check(self, text: str, plainly: int) -> CheckedDocument:
        if len(text) > MAX_DOCUMENT:
            raise GraphQLError(
                f"The document has {len(text):,} characters; the maximum is {MAX_DOCUMENT:,}: "
                "send long values as variables."
            )
        units = units_of(text)
        if units > MAX_TOKENS:
            raise GraphQLError(
                f"The document has more than {MAX_TOKENS:,} lexical units: select fewer fields."
            )
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
            errors = faults_of(document) or self._validate(document)
        except RecursionError:
            raise GraphQLError("The document is nested too deeply to be read.") from None
        operations = [
            CheckedOperation(
                self.schema, document, node, self._facts, plainly if self._compiles else inf
            )
            for node in operations_of(document)
        ]
        times = 2 ** min(len(conditions_in(document) or ()), MAX_CONDITIONS)
        memory = len(text) + units * (_PARSED_BYTES + times * _COMPILED_BYTES)
        return CheckedDocument(document, errors, operations, memory)

    def _validate(self, document: DocumentNode) -> list[GraphQLError]:
        errors = validate(
            self.schema,
            document,
            self._rules,
            max_errors=MAX_DOCUMENT_ERRORS,
            allow_empty_selection_sets=False,
        )
        return [GraphQLError(_TOO_MANY) if error.message == _ABORTED else error for error in errors]


def _room(size: int) -> LRUCache[str, CheckedDocument]:
    return LRUCache(size, lambda document: document.bytes)


def units_of(text: str) -> int:
    """Return the number of lexical units in a text. A comment counts as one unit.

    Counting takes a tenth of the time of parsing.
    """
    return len(_UNIT.findall(text))


def faults_of_variables(variables: object) -> list[GraphQLError]:
    """Return an error if the variables contain too many values; otherwise an empty list."""
    waiting, count = [variables], 0
    while waiting and count <= MAX_VARIABLE_VALUES:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
            count += len(value)
    if count <= MAX_VARIABLE_VALUES:
        return []
    sentence = (
        f"The variables contain more than {MAX_VARIABLE_VALUES:,} values: send fewer at a time."
    )
    return [GraphQLError(sentence)]
