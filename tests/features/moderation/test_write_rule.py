"""The case of a comment follows the comment's publication, in the same transaction."""

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause, Submission
from dal.stores import Stores
from dal.writes.comments import version
from features.moderation.model import ReportReason
from tests.fakes import Answer, FaultyClient, Operation, anybody, let_pass
from tests.features.moderation.edits import edit_by_author
from tests.strategies import comment

ONE = comment("one", username="ann")


async def test_a_note_of_an_earlier_attempt_is_not_used(table: Table) -> None:
    """The first attempt hides the comment's case. The second finds the comment hidden already."""
    stores = Stores(table)
    await stores.comments.add(ONE)
    await stores.reports.report("one", "bob", ReportReason.SPAM, "", 9)

    async def rejected_meanwhile(real: Operation, arguments: Answer) -> Answer:
        await stores.moderation.reject("one", version(ONE), "mo", "No.")
        return await real(**arguments)

    client = FaultyClient(table.service, let_pass, let_pass, rejected_meanwhile)
    edited = Stores(Table(client, table.name)).comments
    one = await edited.update("one", {"text": "new"}, anybody, edit_by_author("new"))
    assert isinstance(one, Submission)
    assert one.cause is ReviewCause.EDIT
    assert [operation for operation, _ in client.calls].count("batch_get_item") == 1
