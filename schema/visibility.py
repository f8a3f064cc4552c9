"""Which fields are public: they say the same to everybody, so a shared cache may keep them.

A field that is not named here is private, and so is every operation that selects one.
"""

from collections.abc import Iterable, Mapping

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    get_named_type,
)

from schema.fragments import Fragments, fields_of, fragments_of

PUBLIC: Mapping[str, str] = {
    "Query": "node nodes product comment author leaderboard",
    "Node": "id",
    "Product": "id productId title pictureUrl url comments statistics mostRecentPositive "
    "mostRecentNegative lastCommentedAt",
    "CommentConnection": "edges nodes pageInfo totalCount",
    "CommentEdge": "node cursor",
    "Comment": "id commentId product title text username author rating language createdAt "
    "updatedAt verifiedPurchase",
    "Author": "username comments",
    "CommentStatistics": "total average histogram languages facets",
    "CommentFacets": "total average ratings languages",
    "RatingFacet": "rating count selected",
    "LanguageFacet": "language count selected",
    "RatingCount": "rating count",
    "LanguageCount": "language count",
    "LeaderboardConnection": "edges nodes pageInfo",
    "ProductRankEdge": "node cursor",
    "ProductRank": "product count rank",
    "PageInfo": "hasNextPage hasPreviousPage startCursor endCursor",
}
"""The public fields of each type. ``plan`` is none of them: it tells of one reading, not of the
data."""

_PUBLIC = frozenset(f"{owner}.{name}" for owner, names in PUBLIC.items() for name in names.split())


_PERSONAL_LOOK_UPS = frozenset({"node", "nodes"})
"""Public fields of Query that also look up what belongs to somebody: by any global id."""

_IMPERSONAL = frozenset(PUBLIC["Query"].split()) - _PERSONAL_LOOK_UPS


def is_impersonal(document: DocumentNode, operation: OperationDefinitionNode) -> bool:
    """Return whether an operation looks up nothing that belongs to a user or an organisation.

    All of that is reached from other fields of Query.
    """
    selected = fields_of(operation.selection_set.selections, fragments_of(document))
    names = {field.name.value for _, field in selected}
    impersonal = all(name.startswith("__") for name in names - _IMPERSONAL)
    return operation.operation is OperationType.QUERY and impersonal


def is_public(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
) -> bool:
    """Return whether everybody gets the same of an operation of a valid document.

    ``node`` and ``nodes`` are public for what is selected of what they find. To look up what is not
    for everybody is an error without a user, and errors are nobody else's.
    """
    if operation.operation is not OperationType.QUERY or schema.query_type is None:
        return False
    walk = _Walk(schema, fragments_of(document))
    return walk.is_public(schema.query_type.name, operation.selection_set.selections)


class _Walk:
    """Goes through the fields of one operation, up to the first private one."""

    def __init__(self, schema: GraphQLSchema, fragments: Fragments) -> None:
        self._schema = schema
        self._fragments = fragments

    def is_public(self, parent: str, selections: Iterable[SelectionNode]) -> bool:
        """Return whether all that is selected of a type is public, at any depth."""
        return all(
            self._is_public_field(named or parent, field)
            for named, field in fields_of(selections, self._fragments)
        )

    def _is_public_field(self, owner: str, field: FieldNode) -> bool:
        name = f"{owner}.{field.name.value}"
        if field.name.value == "__typename":
            return True
        if name not in _PUBLIC:
            return False
        if field.selection_set is None:
            return True
        declared = self._schema.get_field(self._schema.type_map[owner], field.name.value)  # type: ignore[arg-type]
        return declared is not None and self.is_public(
            get_named_type(declared.type).name, field.selection_set.selections
        )
