"""``marginalia user``: blocks, and the list of blocked users."""

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.server.serving import AWS, called


async def test_users_are_blocked_listed_and_unblocked(table: Table, store: list[str]) -> None:
    blocked = called("user", "block", "a/b", "--reason", "Advertising", *store, **AWS)
    assert (blocked.returncode, blocked.stderr) == (0, "")
    assert blocked.stdout.startswith("User a/b is blocked")
    await Stores(table).blocks.block("eve", "Insults", by="mo")
    listed = called("user", "blocked", *store, **AWS).stdout.splitlines()
    assert "2 blocked users" in listed[0]
    rows = [line for line in listed if "Insults" in line or "Advertising" in line]
    assert ["eve" in rows[0], "mo" in rows[0], "a/b" in rows[1], "(none)" in rows[1]] == [True] * 4
    assert called("user", "unblock", "a/b", *store, **AWS).stdout == "User a/b is not blocked.\n"
    listed = called("user", "blocked", *store, **AWS).stdout.splitlines()
    assert listed[0].strip() == "1 blocked user"
    assert not (await Stores(table).standings.permission("a/b")).blocked


async def test_names_and_reasons_are_printed_unchanged(table: Table, store: list[str]) -> None:
    """Rich would interpret brackets as markup. A closing tag alone would be an error."""
    await Stores(table).blocks.block("[b]", "[spam] see [/x] :cat:", by=None)
    listed = called("user", "blocked", *store, **AWS)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "[b]" in listed.stdout
    assert "[spam] see [/x] :cat:" in listed.stdout


def test_a_block_requires_a_reason(store: list[str]) -> None:
    blank = called("user", "block", "bob", "--reason", " ", *store, **AWS)
    assert (blank.returncode, blank.stderr[:30]) == (2, "marginalia: --reason is empty:")


@pytest.mark.parametrize("command", [["block", "--reason", "Spam."], ["unblock"]])
def test_an_author_without_an_account_is_not_blocked(store: list[str], command: list[str]) -> None:
    ended = called("user", *command, "erased-1a2b3c4d", *store, **AWS)
    assert (ended.returncode, ended.stderr[:34]) == (2, "marginalia: NAME 'erased-1a2b3c4d'")
