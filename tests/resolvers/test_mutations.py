from types import SimpleNamespace
from typing import Any

import pytest

from dal.dynamodb.errors import (
    AlreadyExistsError,
    ConflictError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.entities.comment import comment_position
from dal.errors import IdempotencyKeyReusedError, NotFoundError
from dal.query.errors import InvalidCursorError
from dal.query.pagination import Edge
from dal.table.errors import InvalidArgumentError, StoreRefusedError
from resolvers.authorization import ForbiddenError, UnauthenticatedError
from resolvers.context import Context, RequestCache
from resolvers.mutations import Fields, UserError, reported
from resolvers.selection import Info
from tests.resolvers.recording import STORES
from tests.strategies import ORDINARY

INFO: Any = SimpleNamespace(context=Context(None, STORES))
EDGE = Edge(ORDINARY, comment_position(ORDINARY))


@reported(comment=None, comment_edge=None)
async def commenting(info: Info, fault: Exception | None = None) -> Fields:
    """Return the ordinary comment, or raise ``fault``."""
    if fault is not None:
        raise fault
    return {"comment": EDGE.node, "comment_edge": EDGE}


@reported(deleted_id=None)
async def deleting(info: Info, *, fault: Exception | None = None) -> Fields:
    if fault is not None:
        raise fault
    return {"deleted_id": "Q29tbWVudDox"}


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (
            InvalidArgumentError("rating", "Too high."),
            UserError("Too high.", "BAD_ARGUMENT", ["input", "rating"]),
        ),
        (NotFoundError("It is gone."), UserError("It is gone.", "NOT_FOUND")),
        (AlreadyExistsError("There."), UserError("There.", "ALREADY_EXISTS")),
        (
            IdempotencyKeyReusedError("No."),
            UserError("No.", "IDEMPOTENCY_KEY_REUSED"),
        ),
        (ConflictError("Again."), UserError("Again.", "CONFLICT")),
    ],
)
async def test_an_error_that_a_user_can_fix_is_a_user_error(
    fault: Exception, shown: UserError
) -> None:
    empty = SimpleNamespace(comment=None, comment_edge=None, user_errors=[shown])
    assert await commenting(INFO, fault) == empty
    assert await deleting(INFO, fault=fault) == SimpleNamespace(
        deleted_id=None, user_errors=[shown]
    )


@pytest.mark.parametrize(
    "fault",
    [
        UnauthenticatedError("Who are you?"),
        ForbiddenError("Not yours."),
        ThrottledError("Busy."),
        StoreUnavailableError("Away."),
        StoreRefusedError("Refused."),
        InvalidCursorError("Cut."),
        KeyError("a fault of ours"),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_every_other_error_is_an_error_of_the_request(fault: Exception) -> None:
    with pytest.raises(type(fault)) as caught:
        await commenting(INFO, fault)
    assert caught.value is fault


async def test_a_payload_has_the_fields_that_the_mutation_returns() -> None:
    payload = await commenting(INFO)
    assert (payload.comment, payload.comment_edge, payload.user_errors) == (ORDINARY, EDGE, [])
    assert await deleting(INFO) == SimpleNamespace(deleted_id="Q29tbWVudDox", user_errors=[])


def test_the_wrapper_keeps_the_name_and_the_docstring() -> None:
    """Strawberry needs both."""
    assert commenting.__name__ == "commenting"
    assert commenting.__doc__ == "Return the ordinary comment, or raise ``fault``."


async def test_an_object_is_read_again_after_a_mutation() -> None:
    asked = []

    async def get(name: str) -> str:
        asked.append(name)
        return name

    for _ in range(2):
        await INFO.context.part(RequestCache).read(get, "a")
    assert asked == ["a"]
    await commenting(INFO)
    await INFO.context.part(RequestCache).read(get, "a")
    assert asked == ["a", "a"]
