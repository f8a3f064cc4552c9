"""Each field of a comment is in the GraphQL type of submissions, or the test states a reason."""

from graphql import GraphQLObjectType

from dal.model.comment_fields import FIELDS
from tests.comment_fields import TYPES, check, graphql_name


def test_every_field_is_in_the_graphql_type_of_submissions() -> None:
    declared = TYPES.type_map["Submission"]
    assert isinstance(declared, GraphQLObjectType)
    check("Submission", {field.name: graphql_name(field) in declared.fields for field in FIELDS})
