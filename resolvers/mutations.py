"""What all mutations share: user errors instead of a failure, and ids for attempts made twice."""

import hashlib
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import orjson

from dal import errors
from dal.model import rules

Arguments = ParamSpec("Arguments")

Payload = TypeVar("Payload")

Mutation: TypeAlias = Callable[Arguments, Coroutine[Any, Any, Payload]]


@dataclass(frozen=True, slots=True)
class UserError:
    """A reason to show beside an input field; ``field`` is None when none is to blame."""

    message: str
    code: str
    field: str | None = None


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


def idempotency_key(value: str | None) -> str | None:
    """Return an idempotency key, checked; None for none."""
    return None if value is None else rules.identifier("idempotencyKey", value)


def new_id(key: str | None, *owner: str) -> str:
    """Return the id of something new; every attempt under one key of its owner's gives the same."""
    key = idempotency_key(key)
    if key is None:
        return uuid.uuid4().hex
    return hashlib.sha256(orjson.dumps([*owner, key])).hexdigest()[:32]


def _user_error(error: errors.DalError) -> UserError:
    blamed = error.argument if isinstance(error, errors.InvalidArgumentError) else None
    return UserError(str(error), _CODES[type(error)], blamed)
