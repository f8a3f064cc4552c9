"""The ids by which clients remove rows from cached lists of comments, queues and blocked users."""

from typing import Any

from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from resolvers.context import Context, Viewer
from schema.build import build_schema
from tests.moderating import held_for
from tests.schema.conftest import ANN, MODERATOR, Run
from tests.strategies import comment

QUEUE = """query ($kind: ModerationQueueKind!) { moderationQueue(kind: $kind) {
  nodes { id submission { commentId } comment { commentId } } } }"""
APPROVE = """mutation ($input: ApproveCommentInput!) { approveComment(input: $input) {
  queueEntryId userErrors { code } } }"""
REJECT = """mutation ($input: RejectCommentInput!) { rejectComment(input: $input) {
  queueEntryId unpublishedId userErrors { code } } }"""
DECIDE = """mutation ($input: DecideCommentsInput!) { decideComments(input: $input) {
  queueEntryIds unpublishedIds userErrors { code } } }"""
EDIT = """mutation ($input: UpdateCommentInput!) { updateComment(input: $input) {
  unpublishedId submission { id } userErrors { code } } }"""
REPORT = """mutation ($id: ID!) { reportComment(input: { id: $id, reason: SPAM }) {
  reportedId } }"""
BLOCK = """mutation ($input: BlockUserInput!) { blockUser(input: $input) {
  blockedUser { id username } } }"""
UNBLOCK = """mutation ($input: UnblockUserInput!) { unblockUser(input: $input) {
  unblockedId userErrors { code } } }"""
ONE, TWO = comment("1", username="ann"), comment("2", username="ann")
SEEN = ONE.created_at.isoformat()


def of(comment_id: str, **more: object) -> dict[str, object]:
    return {"id": to_base64("Comment", comment_id), "seen": SEEN, **more}


async def payload(run: Run, operation: str, **given: object) -> Any:
    answer = await run(operation, MODERATOR, input=given)
    assert not answer["errors"]
    (found,) = answer["data"].values()
    assert found.pop("userErrors", []) == []
    return found


async def queue_ids(run: Run, kind: str = "PENDING") -> dict[str, str]:
    """Return the id of each row in a queue, by the comment's own id."""
    answer = await run(QUEUE, MODERATOR, kind=kind)
    rows = answer["data"]["moderationQueue"]["nodes"]
    return {(one["submission"] or one["comment"])["commentId"]: one["id"] for one in rows}


async def test_decisions_return_the_ids_of_the_rows_that_leave_lists(
    table: Table, run: Run
) -> None:
    stores = Stores(table)
    for one in (ONE, TWO):
        await stores.comments.add(one, hold=held_for(ReviewCause.SETTING))
    rows = await queue_ids(run)
    assert len({*rows.values()}) == len(rows) == 2
    found = await payload(run, APPROVE, **of("1"))
    assert found == {"queueEntryId": rows["1"]}
    found = await payload(run, REJECT, **of("1", reason="No."))
    assert found == {"queueEntryId": rows["1"], "unpublishedId": of("1")["id"]}
    verdicts = [of("1", verdict="APPROVE"), of("2", verdict="REJECT", reason="No.")]
    found = await payload(run, DECIDE, decisions=verdicts)
    assert found == {
        "queueEntryIds": [rows["1"], rows["2"]],
        "unpublishedIds": [of("2")["id"]],
    }
    await run(REPORT, Viewer("bob"), id=of("1")["id"])
    assert await queue_ids(run, "REPORTED") == {"1": rows["1"]}
    failed = await run(REJECT, MODERATOR, input=of("none", reason="No."))
    assert failed["data"]["rejectComment"] == {
        "queueEntryId": None,
        "unpublishedId": None,
        "userErrors": [{"code": "NOT_FOUND"}],
    }


async def test_an_edit_that_waits_for_a_moderator_returns_the_id_that_leaves_the_lists(
    table: Table,
) -> None:
    stores = Stores(table)
    await stores.comments.add(ONE)
    schema = build_schema()

    async def edit(rule: Moderation) -> Any:
        context = Context(ANN, stores, publication=ModeratedPublication(rule))
        given = {"input": {"id": of("1")["id"], "text": f"new {rule}"}}
        result = await schema.execute(EDIT, given, context_value=context)
        assert result.data is not None
        return result.data["updateComment"]

    assert (await edit(Moderation()))["unpublishedId"] is None
    found = await edit(Moderation(before_publishing=True))
    assert found["submission"] is not None
    assert found["unpublishedId"] == of("1")["id"]


async def test_blocked_users_have_the_id_that_the_end_of_a_block_returns(run: Run) -> None:
    blocked = (await payload(run, BLOCK, username="ann", reason="Spam"))["blockedUser"]
    other = (await payload(run, BLOCK, username="bob", reason="Spam"))["blockedUser"]
    assert blocked["id"] != other["id"]
    nodes = (await run("{ blockedUsers { nodes { id username } } }", MODERATOR))["data"]
    assert nodes["blockedUsers"]["nodes"] == [other, blocked]
    assert await payload(run, UNBLOCK, username="ann") == {"unblockedId": blocked["id"]}
