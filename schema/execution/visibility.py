"""Decides which operations are public: their results are the same for every client.

Shared caches may keep the results of public operations. An operation is public if it selects only
public fields, which this module lists. All other fields are private.
"""

from collections.abc import Iterable, Mapping

from graphql import (
    DocumentNode,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    get_named_type,
)

from schema.execution.selections import fields_of, fragments_of

PUBLIC: Mapping[str, str] = {
    "Query": "node nodes product products productSearch comment author leaderboard",
    "Node": "id",
    "Product": "id productId isKnown title pictureUrl url comments statistics mostRecentPositive "
    "mostRecentNegative highlights lastCommentedAt",
    "CommentConnection": "edges nodes pageInfo totalCount jsonLd",
    "AuthorCommentConnection": "edges nodes pageInfo",
    "CommentEdge": "node cursor",
    "Comment": "id commentId product title text username authorName author rating language "
    "createdAt updatedAt verifiedPurchase reply photos helpfulCount jsonLd",
    "Photo": "url alt",
    "ProductHighlights": "mostHelpfulPositive mostHelpfulCritical",
    "Reply": "text createdAt",
    "Author": "id username isKnown name comments",
    "CommentStatistics": "total average histogram languages facets",
    "CommentFacets": "total average ratings languages",
    "RatingFacet": "rating count selected",
    "LanguageFacet": "language count selected",
    "RatingCount": "rating count",
    "LanguageCount": "language count",
    "ProductConnection": "edges nodes pageInfo",
    "ProductEdge": "node cursor",
    "LeaderboardConnection": "edges nodes pageInfo",
    "ProductRankEdge": "node cursor",
    "ProductRank": "product count rank",
    "PageInfo": "hasNextPage hasPreviousPage startCursor endCursor",
}
"""The public fields of each type, by the type's name. ``plan`` is not public, because it describes
one read and not the data."""

_PUBLIC = frozenset(f"{owner}.{name}" for owner, names in PUBLIC.items() for name in names.split())

_PERSONAL_LOOK_UPS = frozenset({"node", "nodes"})
"""Public fields of Query that return objects of any type by global id, including private
objects."""

_IMPERSONAL = frozenset(PUBLIC["Query"].split()) - _PERSONAL_LOOK_UPS


def is_impersonal(document: DocumentNode, operation: OperationDefinitionNode) -> bool:
    """Return whether an operation reads no private object of a user or an organisation.

    Private objects can be reached only from the fields of Query that are not in ``_IMPERSONAL``.
    """
    selected = fields_of(operation.selection_set.selections, fragments_of(document))
    names = {field.name.value for _, field in selected}
    impersonal = all(name.startswith("__") for name in names - _IMPERSONAL)
    return operation.operation is OperationType.QUERY and impersonal


def is_public(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
) -> bool:
    """Return whether every client gets the same result from an operation of a valid document.

    ``node`` and ``nodes`` count as public if only public fields are selected below them, although
    the object with the id may be private. This is safe: a request without a user gets an error for
    a private object, and caches keep neither errors nor responses to requests with a user.
    """
    if operation.operation is not OperationType.QUERY or schema.query_type is None:
        return False
    fragments = fragments_of(document)

    def public(parent: str, selections: Iterable[SelectionNode]) -> bool:
        for named, field in fields_of(selections, fragments):
            owner, name = named or parent, field.name.value
            if name == "__typename":
                continue
            if f"{owner}.{name}" not in _PUBLIC:
                return False
            if field.selection_set is not None:
                declared = schema.get_field(schema.type_map[owner], name)  # type: ignore[arg-type]
                assert declared is not None  # noqa: S101 - the document is valid
                if not public(get_named_type(declared.type).name, field.selection_set.selections):
                    return False
        return True

    return public(schema.query_type.name, operation.selection_set.selections)
