import pytest

from resolvers.authorization import (
    ForbiddenError,
    UnauthenticatedError,
    may_change,
    require_viewer,
)
from resolvers.context import Context, Viewer
from tests.resolvers.recording import STORES
from tests.strategies import comment


def test_a_viewer_is_required() -> None:
    viewer = Viewer("ana")
    assert require_viewer(Context(viewer, STORES)) is viewer
    with pytest.raises(UnauthenticatedError):
        require_viewer(Context(None, STORES))


@pytest.mark.parametrize(
    ("viewer", "allowed"),
    [
        (Viewer("ana"), True),
        (Viewer("ana", frozenset({"reader"})), True),
        (Viewer("bob"), False),
        (Viewer("Ana"), False),
        (Viewer("ana "), False),
        (Viewer("bob", frozenset({"reader", "Moderator"})), False),
        (Viewer("bob", frozenset({"reader", "moderator"})), True),
        (Viewer("moderator"), False),
    ],
    ids=lambda value: (
        f"{value.user_id}-{sorted(value.roles)}" if isinstance(value, Viewer) else None
    ),
)
def test_authors_and_moderators_change_a_comment(viewer: Viewer, allowed: bool) -> None:
    written = comment(username="ana")
    if allowed:
        may_change(viewer, written)
    else:
        with pytest.raises(ForbiddenError):
            may_change(viewer, written)
