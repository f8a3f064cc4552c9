"""Rules of writes: the order of their actions, their errors, and their calls."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb.errors import ConditionFailedError, InvalidRequestError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_key
from dal.stores import Stores
from dal.table.errors import DalError
from dal.table.items import Action, Item, primary_key
from dal.writes.changes import CommentChange, WriteRule, WriteRules
from dal.writes.comments import CommentWriter, Stored
from tests.fakes import Answer, FaultyClient, anybody, client_error, let_pass, refuse
from tests.strategies import comment

ONE = comment("one", username="ann")
REFUSED = refuse(client_error("ValidationException"))


def key(name: str) -> Item:
    return primary_key(f"RULE#{name}", "1")


class Adding(WriteRule):
    """Adds actions to each change, and returns its own error for each failure."""

    class Error(DalError):
        pass

    def __init__(self, number: int, *, follows_new: bool = True) -> None:
        self.number = number
        self.follows_new = follows_new  # type: ignore[misc]

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:
        return [{"Delete": {"Key": key(f"{self.number} {n}")}} for n in range(self.number)]

    async def failed(self, change: CommentChange, error: ConditionFailedError) -> DalError:
        return self.Error(self.number, error.failed, error.items)


def writer(client: FaultyClient, name: str, *rules: WriteRule) -> CommentWriter:
    table = Table(client, name)
    return CommentWriter(table, MaintenanceStore(table), rules)


def sent(client: FaultyClient) -> list[Action]:
    """Return the actions of the latest transaction."""
    requests = [given for operation, given in client.calls if "TransactItems" in given]
    return [strip(one) for one in requests[-1]["TransactItems"]]


def strip(action: Answer) -> Action:
    """Return an action without the name of the table."""
    ((kind, entry),) = action.items()
    return {kind: {name: value for name, value in entry.items() if name != "TableName"}}


def key_of(action: Action) -> Item:
    (entry,) = action.values()
    return {name: entry.get("Key", entry.get("Item"))[name] for name in ("PK", "SK")}


@pytest.mark.parametrize("beside", [False, True])
async def test_rules_add_their_actions_after_the_callers_and_before_the_counters(
    table: Table, *, beside: bool
) -> None:
    await Stores(table).comments.add(ONE)
    check: Action = {"ConditionCheck": {"Key": key("caller"), "ConditionExpression": "a = b"}}

    def step(item: Item, _: Stored) -> CommentChange:
        return CommentChange(item, None, [check] if beside else [])

    found = []
    for rules in ([Adding(2), Adding(1)], []):
        client = FaultyClient(table.service, let_pass, REFUSED)
        with pytest.raises(InvalidRequestError):
            await writer(client, table.name, *rules).rewrite("one", step)
        found.append(sent(client))
    on, off = found
    own = 2 if beside else 1
    assert [key_of(one) for one in on[own : own + 3]] == [key("2 0"), key("2 1"), key("1 0")]
    assert on[:own] + on[own + 3 :] == off
    assert len(off) > own, "the counters are last"


async def test_a_new_comment_has_the_actions_of_rules_that_follow_new_comments(
    table: Table,
) -> None:
    client = FaultyClient(table.service, REFUSED)
    rules = Adding(2, follows_new=False), Adding(1)
    with pytest.raises(InvalidRequestError):
        await writer(client, table.name, *rules).add(ONE)
    keys = [key_of(one) for one in sent(client)]
    assert keys[:2] == [comment_key("one"), key("1 0")]
    assert key("2 0") not in keys
    assert await Stores(table).comments.get("one") is None


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ({1}, None),
        ({1, 2}, None),
        ({2}, (2, [0], {0: {"n": 2}})),
        ({3, 4}, (2, [1], {1: {"n": 3}})),
        ({4}, (1, [0], {0: {"n": 4}})),
    ],
)
async def test_the_caller_and_then_the_first_rule_with_a_failed_action_get_the_error(
    failed: Collection[int], expected: tuple[object, ...] | None
) -> None:
    """The actions are those of the comment, of the caller, two of a rule, and one of the next."""
    held = COMMENT.encode(ONE)
    change = CommentChange(held, held, [{"Delete": {"Key": key("beside")}}])
    rules = WriteRules([WriteRule(), Adding(2), Adding(1)])
    change.write(Maintenance(), rules.actions)
    assert len(change.actions) == 5
    error = ConditionFailedError([*failed], {number: {"n": number} for number in failed})
    found = await change.explained(error)
    if expected is None:
        assert found is error
    else:
        assert isinstance(found, Adding.Error)
        assert found.args == expected


class Upgrading(Adding):
    """Adds its actions while the table is being upgraded."""

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:
        return super().actions(change, state) if state.upgrading else []


async def test_actions_are_built_again_for_another_state_of_the_table(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade of the table begins between the locks and the write."""
    client = FaultyClient(table.service)
    watched = Table(client, table.name)
    maintenance = MaintenanceStore(watched)
    latest = await maintenance.current()

    async def changed() -> Maintenance:
        return replace(latest, upgrading=True)

    monkeypatch.setattr(maintenance, "current", changed)
    await CommentWriter(watched, maintenance, [Upgrading(1)]).add(ONE)
    assert key_of(sent(client)[1]) == key("1 0")
    assert maintenance.latest is latest


class Following(WriteRule):
    """Keeps the ids of committed comments."""

    def __init__(self, *, new: bool) -> None:
        self.seen: list[str] = []
        self.follows_new = new  # type: ignore[misc]

    def committed(self, change: CommentChange) -> None:
        self.seen.append(change.key)


async def test_a_rule_receives_new_comments_only_if_it_follows_them(table: Table) -> None:
    rules = Following(new=True), Following(new=False)
    writer = CommentWriter(table, MaintenanceStore(table), [WriteRule(), *rules])
    await writer.add(ONE)
    await writer.update("one", {"text": "new"}, anybody)
    assert [len(rule.seen) for rule in rules] == [2, 1]
