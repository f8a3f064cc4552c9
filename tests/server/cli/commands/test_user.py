"""``marginalia user``: blocks, and the list of blocked users."""

from dal.client.table import Table
from dal.stores import Stores
from tests.server.serving import AWS, called


async def test_users_are_blocked_listed_and_unblocked(table: Table, store: list[str]) -> None:
    blocked = called("user", "block", "a/b", "--reason", "Advertising", *store, **AWS)
    assert (blocked.returncode, blocked.stderr) == (0, "")
    assert blocked.stdout == "User a/b is blocked: new comments and edits wait for a moderator.\n"
    assert (await Stores(table).standings.permission("a/b")).blocked
    assert called("user", "unblock", "a/b", *store, **AWS).stdout == "User a/b is not blocked.\n"
    assert not (await Stores(table).standings.permission("a/b")).blocked


def test_a_reason_has_to_be_given(store: list[str]) -> None:
    blank = called("user", "block", "bob", "--reason", " ", *store, **AWS)
    assert (blank.returncode, blank.stderr) == (
        2,
        "marginalia: --reason is empty: write something.\n",
    )
