"""Only moderators see why a comment waits."""

from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.entities.submission import SUBMISSION
from dal.model.submissions import ReviewCause, pending
from tests.schema.conftest import ANN, MODERATOR, Run
from tests.strategies import TIES, comment


async def test_only_moderators_see_why_a_submission_waits(run: Run, table: Table) -> None:
    held = pending(comment("held", username="ann"), ReviewCause.REPORTS, TIES[0])
    await table.put_many([SUBMISSION.encode(held)])
    operation = (
        f'{{ node(id: "{to_base64("Submission", "held")}") {{ ... on Submission {{ cause }} }} }}'
    )
    for viewer, cause in ((ANN, None), (MODERATOR, "REPORTS")):
        answer = await run(operation, viewer)
        assert answer["data"] == {"node": {"cause": cause}}
