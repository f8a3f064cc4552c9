"""Builds the schema from its roots, with the caches and limits of every operation."""

from functools import partial
from typing import Any

from graphql import GraphQLError
from strawberry import Schema
from strawberry.extensions import (
    AddValidationRules,
    MaxAliasesLimiter,
    MaxTokensLimiter,
    ParserCache,
    QueryDepthLimiter,
    ValidationCache,
)
from strawberry.types import ExecutionContext, ExecutionResult

from schema.comments import Comment, Product
from schema.errors import log_faults, shown
from schema.mutation import Mutation
from schema.orders import Order
from schema.organizations import Organization, OrganizationUser
from schema.query import Query
from schema.tickets import Ticket
from schema.users import User

NODE_TYPES = (Comment, Order, Organization, OrganizationUser, Product, Ticket, User)
"""The types that a client meets through the Node interface."""

MAX_DEPTH = 10
MAX_ALIASES = 30
MAX_TOKENS = 2_000

# Made once: a limiter of each request would bring that request a rule class of its own, and the
# validation cache, which is keyed by the rules, would never hit.
_LIMITS = [
    *QueryDepthLimiter(max_depth=MAX_DEPTH).validation_rules,
    *MaxAliasesLimiter(max_alias_count=MAX_ALIASES).validation_rules,
]


class _Schema(Schema):
    """Strawberry's schema, with errors as ``schema.errors`` shows and logs them."""

    async def execute(self, *args: Any, **kwargs: Any) -> ExecutionResult:
        result = await super().execute(*args, **kwargs)
        if result.errors:
            result.errors = [shown(error) for error in result.errors]
        return result

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        del execution_context
        log_faults(errors)


def build_schema() -> Schema:
    """Return the executable schema."""
    return _Schema(
        query=Query,
        mutation=Mutation,
        types=NODE_TYPES,
        extensions=[
            partial(AddValidationRules, _LIMITS),
            partial(MaxTokensLimiter, max_token_count=MAX_TOKENS),
            partial(ParserCache, maxsize=500),
            partial(ValidationCache, maxsize=500),
        ],
    )
