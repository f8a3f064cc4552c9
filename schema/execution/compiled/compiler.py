"""Compiles selection sets of a validated document; what it does not cover stays graphql-core's."""

from collections.abc import Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any

from graphql import (
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    TypeNameMetaFieldDef,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)

from schema.execution.compiled.arguments import NO_VARIABLES, has_variables
from schema.execution.compiled.completion import (
    ForeignCompletion,
    LeafCompletion,
    ListCompletion,
    ObjectCompletion,
)
from schema.execution.compiled.field import Completion, Field, ForeignField
from schema.execution.compiled.leaves import Leaf
from schema.execution.compiled.resolvers import attribute_of, resolve_by
from schema.execution.compiled.selection import Selection, selection_of


class NotCoveredError(Exception):
    """Which fields a selection set has is known with its request alone."""


class Compiler:
    """Compiles one operation."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: Mapping[str, FragmentDetails],
        operation: OperationDefinitionNode,
    ) -> None:
        self._schema = schema
        self._fragments = dict(fragments)
        self._operation = operation

    def root(self, root_type: GraphQLObjectType) -> Selection:
        """Return what the operation selects; NotCoveredError where variables decide it."""
        self._check([self._operation.selection_set])
        collected = collect_fields(
            self._schema, self._fragments, NO_VARIABLES, root_type, self._operation
        )
        return self._selection(root_type, collected.grouped_field_set)

    def _below(self, object_type: GraphQLObjectType, details: FieldDetailsList) -> Selection:
        self._check([one.node.selection_set for one in details if one.node.selection_set])
        collected = collect_subfields(
            self._schema, self._fragments, NO_VARIABLES, self._operation, object_type, details
        )
        return self._selection(object_type, collected.grouped_field_set)

    def _check(self, selections: Iterable[SelectionSetNode]) -> None:
        """Raise NotCoveredError where directives with variables decide what is selected."""
        waiting = list(selections)
        seen = set()
        while waiting:
            for node in waiting.pop().selections:
                if any(map(has_variables, node.directives or ())):
                    raise NotCoveredError
                if isinstance(node, InlineFragmentNode):
                    waiting.append(node.selection_set)
                elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                    seen.add(node.name.value)
                    waiting.append(self._fragments[node.name.value].definition.selection_set)

    def _selection(self, object_type: GraphQLObjectType, grouped: GroupedFieldSet) -> Selection:
        selected = [self._selected(object_type, key, of) for key, of in grouped.items()]
        return selection_of(object_type, grouped, selected)

    def _selected(
        self, object_type: GraphQLObjectType, key: str, details: FieldDetailsList
    ) -> str | Leaf | Field | ForeignField:
        """Return what is selected under a response key: its result, where that is known."""
        name = details[0].node.name.value
        definition = self._schema.get_field(object_type, name)
        if definition is TypeNameMetaFieldDef:
            return object_type.name
        if definition is None or name.startswith("__"):
            return ForeignField(object_type, key, details)
        attribute = attribute_of(definition)
        if attribute is not None and is_leaf_type(get_nullable_type(definition.type)):
            return Leaf(attribute, definition.type)
        field = Field(object_type, definition, key, details)
        resolve_by(self._schema, field)
        field.completion = self._completion(field, definition.type)
        return field

    def _completion(self, field: Field, type_: GraphQLOutputType) -> Completion:
        nullable: Any = get_nullable_type(type_)
        if is_leaf_type(nullable):
            return LeafCompletion(field, type_)
        if is_list_type(nullable):
            item = self._completion(field, nullable.of_type)
            return ListCompletion(field, type_, nullable.of_type, item)
        if is_object_type(nullable) and not iscoroutinefunction(nullable.is_type_of):
            try:
                selection = self._below(nullable, field.details)
            except NotCoveredError:
                return ForeignCompletion(field, type_)
            return ObjectCompletion(field, type_, nullable.is_type_of, selection)
        return ForeignCompletion(field, type_)
