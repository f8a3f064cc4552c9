"""Checks the inputs of mutations, returns user errors, and makes ids from idempotency keys."""

import hashlib
import secrets
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache, partial, wraps
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import orjson
import strawberry
from strawberry.utils.str_converters import to_camel_case

from dal.dynamodb.account import writing
from dal.dynamodb.errors import AlreadyExistsError, ConflictError
from dal.errors import (
    AlreadyCommentedError,
    GrantError,
    IdempotencyKeyReusedError,
    NotBoughtError,
    NotFoundError,
)
from dal.model.own_ids import global_id
from dal.table.errors import DalError, InvalidArgumentError
from resolvers.authorization import may_write
from resolvers.context import RequestCache
from resolvers.selection import Info

Arguments = ParamSpec("Arguments")

Result = TypeVar("Result")

Name = TypeVar("Name", str, int)

Mutation: TypeAlias = Callable[Concatenate[Info, Arguments], Coroutine[Any, Any, Result]]

_camel_case = lru_cache(maxsize=None)(to_camel_case)

Rule: TypeAlias = Callable[[str, Any], Any]
"""A function of a field's name and value. It returns the value in canonical form, or raises
InvalidArgumentError with the name."""

Fields: TypeAlias = Mapping[str, Any]
"""The fields of a mutation's payload, by the names of the attributes of its GraphQL type."""

INPUT = "input"
"""The name of the argument of every mutation."""


@dataclass(frozen=True, slots=True)
class UserError:
    """An error in a mutation's input.

    ``field`` is the path of the invalid field, for example ``["input", "lines", "0", "quantity"]``.
    It is None if the error is not about a field.
    """

    message: str
    code: str
    """The name of a ``UserErrorCode``."""
    field: list[str] | None = None
    existing_id: str | None = None
    """With ALREADY_COMMENTED, the global id of the comment or submission that the user already has
    on the product. With other codes, None."""


class InvalidInputError(Exception):
    """The input is invalid. ``faults`` has one error for each invalid field."""

    def __init__(self, faults: Sequence[InvalidArgumentError]) -> None:
        super().__init__("The input breaks rules.")
        self.faults = faults


CODES: dict[type[DalError], str] = {
    InvalidArgumentError: "BAD_ARGUMENT",
    NotFoundError: "NOT_FOUND",
    AlreadyExistsError: "ALREADY_EXISTS",
    AlreadyCommentedError: "ALREADY_COMMENTED",
    NotBoughtError: "NOT_BOUGHT",
    IdempotencyKeyReusedError: "IDEMPOTENCY_KEY_REUSED",
    ConflictError: "CONFLICT",
}
"""The codes of user errors. A GrantError has its own code."""

_REPORTED: tuple[type[DalError], ...] = (*CODES, GrantError)
"""The errors that become user errors. The user can correct them."""


def reported(
    *, reads_standing: bool = False, **without: Any
) -> Callable[[Mutation[Arguments, Fields]], Mutation[Arguments, SimpleNamespace]]:
    """Decorate a mutation, so that the errors in ``_REPORTED`` become user errors.

    The mutation returns the fields of its payload. ``without`` are the values of these fields in a
    payload with errors. If the mutation does not return ``user_errors``, there are none.

    The limit of the operation's reads applies to the reads of the payload's fields, and not to the
    mutation itself, which would otherwise end after a part of its writes.

    While the viewer's data is being erased, the mutation raises ForbiddenError, because an erasure
    proves that no item names the user. With ``reads_standing``, the mutation itself calls
    ``may_write``, because it reads the viewer's standing together with other items.
    """

    def decorated(
        mutation: Mutation[Arguments, Fields],
    ) -> Mutation[Arguments, SimpleNamespace]:
        @wraps(mutation)
        async def reporting(
            info: Info, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> SimpleNamespace:
            context = info.context
            viewer = context.viewer
            fields: Fields = without
            errors: list[UserError] = []
            try:
                with writing():
                    if viewer is not None and not reads_standing:
                        may_write(await context.stores.standings.permission(viewer.user_id))
                    fields = await mutation(info, *args, **kwargs)
            except InvalidInputError as invalid:
                errors = [_user_error(one) for one in invalid.faults]
            except _REPORTED as error:
                errors = [_user_error(error)]
            finally:
                # Forget cached reads, so that the payload's fields include the mutation's writes.
                context.parts.pop(RequestCache, None)
            return SimpleNamespace(**{"user_errors": errors, **fields})

        # Strawberry passes `info` by name, but the type Mutation cannot state argument names, so
        # mypy reports an error.
        return reporting  # type: ignore[return-value]

    return decorated


class NullIsDefault:
    """An input of a new object: null has the same meaning as an absent field.

    A field with a default has a nullable GraphQL type. Its Python type excludes None.
    """

    def __post_init__(self) -> None:
        """Replace None by the default of the field."""
        for one in fields(self):  # type: ignore[arg-type]
            if getattr(self, one.name) is None:
                default = one.default
                if one.default_factory is not MISSING:
                    default = one.default_factory()
                setattr(self, one.name, default)


def checked(given: object, rules: Mapping[str, Rule], within: str = "") -> dict[str, Any]:
    """Check an input by ``rules``. Return the fields that are not null, in canonical form.

    ``rules`` maps each field to its rule. Raises InvalidInputError with the errors of all fields.
    ``within`` is a prefix for the fields' names in the errors, such as ``lines.0.``.
    """
    return _collected(
        [
            (name, partial(rule, within + _camel_case(name), value))
            for name, rule in rules.items()
            if (value := getattr(given, name)) is not None
        ]
    )


def changed(
    given: object, rules: Mapping[str, Rule], clearable: Collection[str] = ()
) -> dict[str, Any]:
    """Check an input by ``rules``. Return the fields that the client sent, in canonical form.

    Null becomes an empty string if ``clearable`` contains the field. Otherwise null is an error.
    """
    return _collected(
        [
            (name, partial(_changed, rule, _camel_case(name), value, name in clearable))
            for name, rule in rules.items()
            if (value := getattr(given, name)) is not strawberry.UNSET
        ]
    )


def _changed(rule: Rule, argument: str, value: object, clears: bool) -> object:  # noqa: FBT001 - has one caller
    if value is None and not clears:
        raise InvalidArgumentError(argument, f"{argument} is null. Leave it out to keep its value.")
    return rule(argument, "" if value is None else value)


def checked_each(
    argument: str, given: Iterable[object], rules: Mapping[str, Rule]
) -> list[dict[str, Any]]:
    """Check each entry of a list as ``checked`` does, and return the fields of each entry."""
    entries = _collected(
        (number, partial(checked, one, rules, f"{argument}.{number}."))
        for number, one in enumerate(given)
    )
    return list(entries.values())


def _collected(work: Iterable[tuple[Name, Callable[[], Any]]]) -> dict[Name, Any]:
    """Call each function, and return the results by name.

    Raise all errors in one InvalidInputError.
    """
    done: dict[Name, Any] = {}
    faults: list[InvalidArgumentError] = []
    for name, step in work:
        try:
            done[name] = step()
        except InvalidArgumentError as fault:
            faults.append(fault)
        except InvalidInputError as several:
            faults += several.faults
    if faults:
        raise InvalidInputError(faults)
    return done


def new_id(key: str | None, *owner: str) -> str:
    """Return the id of a new object: a hash of ``owner`` and the idempotency key ``key``.

    ``owner`` has the names to which the object belongs, such as the user name. If a request for the
    same owner is repeated with the same key, it gets the same id. Without a key, the id is random.
    """
    if key is None:
        return secrets.token_hex(16)
    return hashlib.sha256(orjson.dumps([*owner, key])).hexdigest()[:32]


def _user_error(error: DalError) -> UserError:
    blamed = None
    if isinstance(error, InvalidArgumentError):
        blamed = [INPUT, *error.argument.split(".")]
    existing = None
    if isinstance(error, AlreadyCommentedError):
        # The type in the global id is Comment or Submission.
        existing = global_id(type(error.there).__name__, error.there.comment_id)
    code = error.code if isinstance(error, GrantError) else CODES[type(error)]
    return UserError(str(error), code, blamed, existing)
