"""Rules beside writes: the order of their actions, their errors, and their notes."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from dal.counts.mode import Maintenance, MaintenanceStore, OnePerPerson
from dal.dynamodb.errors import ConditionFailedError, InvalidRequestError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT, comment_key
from dal.entities.commented import commented_key
from dal.model.submissions import ReviewCause, Submission
from dal.stores import Stores
from dal.table.errors import DalError
from dal.table.items import Action, Item
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter, Stored, version
from dal.writes.rules import WriteRule, WriteRules, explained
from features.moderation.entity import case_key
from features.moderation.model import ReportReason
from tests.fakes import Answer, FaultyClient, Operation, anybody, client_error, let_pass, refuse
from tests.moderating import edit_for
from tests.strategies import comment

ONE = comment("one", username="ann")
STATE = Maintenance(one_per_person=OnePerPerson.ON)
REFUSED = refuse(client_error("ValidationException"))


async def reported(table: Table) -> Stores:
    """Return the stores of a table with a reported comment, and one comment per person."""
    store = MaintenanceStore(table)
    await store.announce(await store.read(), one_per_person=OnePerPerson.ON)
    stores = Stores(table)
    await stores.comments.add(ONE)
    await stores.reports.report("one", "bob", ReportReason.SPAM, "", 9)
    return stores


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
    await reported(table)
    check: Action = {"ConditionCheck": {"Key": case_key("other"), "ConditionExpression": "a = b"}}

    def step(item: Item, _: Stored) -> CommentChange:
        return CommentChange(item, None, [check] if beside else [])

    found = []
    for rules in (True, False):
        reads = [let_pass] * (2 if rules and not beside else 1)
        client = FaultyClient(table.service, *reads, REFUSED)
        watched = Table(client, table.name)
        bare = CommentWriter(watched, MaintenanceStore(watched), [])
        with pytest.raises(InvalidRequestError):
            await (Stores(watched).comments if rules else bare).rewrite("one", step)
        found.append(sent(client))
    on, off = found
    middle = [case_key("other" if beside else "one"), commented_key(ONE)]
    assert [key_of(one) for one in on[:3]] == [comment_key("one"), *middle]
    own = 2 if beside else 1
    assert on[:own] + on[3:] == off
    assert len(off) > own, "the counters are last"


async def test_a_new_comment_has_the_actions_of_rules_that_follow_new_comments(
    table: Table,
) -> None:
    stores = await reported(table)
    new = comment("two", username="cy")
    client = FaultyClient(table.service, REFUSED)
    with pytest.raises(InvalidRequestError):
        await Stores(Table(client, table.name)).comments.add(new)
    assert [key_of(one) for one in sent(client)[:2]] == [comment_key("two"), commented_key(new)]
    assert await stores.comments.get("two") is None


class Adding(WriteRule):
    """Adds actions to each change, and returns its own error for each failure."""

    class Error(DalError):
        pass

    def __init__(self, number: int) -> None:
        self._number = number

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:
        return [{"Delete": {"Key": case_key(f"{n}")}} for n in range(self._number)]

    async def failed(self, change: CommentChange, error: ConditionFailedError) -> DalError:
        return self.Error(self._number, error.failed, error.items)


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
    change = CommentChange(held, held, [{"Delete": {"Key": case_key("beside")}}])
    rules = WriteRules([WriteRule(), Adding(2), Adding(1)])
    assert len(change.write(STATE, rules.actions).actions) == 5
    error = ConditionFailedError([*failed], {number: {"n": number} for number in failed})
    found = await explained(change, error)
    if expected is None:
        assert found is error
    else:
        assert isinstance(found, Adding.Error)
        assert found.args == expected


async def test_a_note_of_an_earlier_attempt_is_not_used(table: Table) -> None:
    """The first attempt hides the comment's case. The second finds the comment hidden already."""
    stores = await reported(table)

    async def rejected_meanwhile(real: Operation, arguments: Answer) -> Answer:
        await stores.moderation.reject("one", version(ONE), "mo", "No.")
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, let_pass, rejected_meanwhile)
    edited = Stores(Table(client, table.name)).comments
    one = await edited.update("one", {"text": "new"}, anybody, edit_for(ReviewCause.WORDS))
    assert isinstance(one, Submission)
    assert one.cause is ReviewCause.EDIT
    assert [operation for operation, _ in client.calls].count("batch_get_item") == 1


async def test_actions_are_built_again_for_another_state_of_the_table(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of one comment per person is switched on between the locks and the write."""
    client = FaultyClient(table.service)
    stores = Stores(Table(client, table.name))
    await stores.comments.add(comment("first"))
    latest = stores.maintenance.latest
    assert latest is not None

    async def switched() -> Maintenance:
        return replace(latest, one_per_person=OnePerPerson.ON)

    monkeypatch.setattr(stores.maintenance, "current", switched)
    await stores.comments.add(ONE)
    assert key_of(sent(client)[1]) == commented_key(ONE)
    assert stores.maintenance.latest is latest


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
