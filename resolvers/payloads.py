"""What mutations return: the change, or the reasons why there is none."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

from dal import errors
from dal.model import Comment, Order, User
from dal.pages import Edge

Arguments = ParamSpec("Arguments")
Payload = TypeVar("Payload")
Mutation: TypeAlias = Callable[Arguments, Coroutine[Any, Any, Payload]]


@dataclass(frozen=True, slots=True)
class UserError:
    """A reason to show beside an input field; ``field`` is None when none is to blame."""

    message: str
    code: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class CommentPayload:
    """A stored comment with its edge, ready to be inserted in a list."""

    comment_edge: Edge[Comment] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def comment(self) -> Comment | None:
        """The comment itself."""
        return self.comment_edge.node if self.comment_edge else None


@dataclass(frozen=True, slots=True)
class OrderPayload:
    """An order as it stands now with its edge, ready to be inserted in a list."""

    order_edge: Edge[Order] | None = None
    user_errors: list[UserError] = field(default_factory=list)

    @property
    def order(self) -> Order | None:
        """The order itself."""
        return self.order_edge.node if self.order_edge else None


@dataclass(frozen=True, slots=True)
class ProfilePayload:
    """The user whose profile was changed."""

    user: User | None = None
    user_errors: list[UserError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeletePayload:
    """The id of what is gone."""

    deleted_id: str | None = None
    user_errors: list[UserError] = field(default_factory=list)


_CODES: dict[type[errors.DalError], str] = {
    errors.InvalidArgumentError: "BAD_ARGUMENT",
    errors.NotFoundError: "NOT_FOUND",
    errors.AlreadyExistsError: "ALREADY_EXISTS",
    errors.IdempotencyKeyReusedError: "IDEMPOTENCY_KEY_REUSED",
    errors.ConflictError: "CONFLICT",
}
"""The faults that the person who filled in the form can mend."""


def reported(
    payload: Callable[..., Payload],
) -> Callable[[Mutation[Arguments, Payload]], Mutation[Arguments, Payload]]:
    """Make a mutation return an input's fault as its payload's user error."""

    def decorated(mutation: Mutation[Arguments, Payload]) -> Mutation[Arguments, Payload]:
        @wraps(mutation)
        async def reporting(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Payload:
            try:
                return await mutation(*args, **kwargs)
            except tuple(_CODES) as error:
                return payload(user_errors=[_user_error(error)])

        return reporting

    return decorated


def _user_error(error: errors.DalError) -> UserError:
    blamed = error.argument if isinstance(error, errors.InvalidArgumentError) else None
    return UserError(str(error), _CODES[type(error)], blamed)
