"""Decides which operations are public: their results are the same for every client.

Shared caches may keep the results of public operations. An operation is public if it selects only
public fields. Fields are private unless their ``facts`` say otherwise.
"""

from collections.abc import Collection, Iterable

from graphql import (
    DocumentNode,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    get_named_type,
    is_abstract_type,
)

from schema.execution.selections import fields_of, fragments_of


def is_impersonal(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    public: Collection[str],
) -> bool:
    """Return whether an operation reads no private object of a user or an organisation.

    Public fields of Query return no private objects, unless their type is an interface: ``node``
    returns objects of any type.
    """
    root = schema.query_type
    if operation.operation is not OperationType.QUERY or root is None:
        return False
    selected = fields_of(operation.selection_set.selections, fragments_of(document))
    names = {field.name.value for _, field in selected}
    return all(
        name.startswith("__")
        or (
            f"{root.name}.{name}" in public
            and not is_abstract_type(get_named_type(root.fields[name].type))
        )
        for name in names
    )


def is_public(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    public: Collection[str],
) -> bool:
    """Return whether every client gets the same result from an operation of a valid document.

    ``node`` and ``nodes`` count as public if only public fields are selected below them, although
    the object with the id may be private. This is safe: a request without a user gets an error for
    a private object, and caches keep neither errors nor responses to requests with a user.
    """
    if operation.operation is not OperationType.QUERY or schema.query_type is None:
        return False
    fragments = fragments_of(document)

    def shared(parent: str, selections: Iterable[SelectionNode]) -> bool:
        for named, field in fields_of(selections, fragments):
            owner, name = named or parent, field.name.value
            if name == "__typename":
                continue
            if f"{owner}.{name}" not in public:
                return False
            if field.selection_set is not None:
                declared = schema.get_field(schema.type_map[owner], name)  # type: ignore[arg-type]
                assert declared is not None  # noqa: S101 - the document is valid
                if not shared(get_named_type(declared.type).name, field.selection_set.selections):
                    return False
        return True

    return shared(schema.query_type.name, operation.selection_set.selections)
