"""Helpful votes while a rebuild changes the maintenance mode to stream."""

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.table import Table
from features.stream_counting.rebuild import rebuild
from features.stream_counting.streams import Streams
from tests.engines import SECOND_IN_SOAK
from tests.features.stream_counting.conftest import transactional
from tests.features.stream_counting.records import catch_up
from tests.features.votes.test_folds import Storm
from tests.writers import ignore


@SECOND_IN_SOAK
async def test_votes_during_edits_a_deletion_and_a_rebuild_are_exact(
    each_table: Table, streams: Streams
) -> None:
    storm = Storm(await transactional(each_table), seed=1)
    rebuilt = rebuild(MaintenanceStore(each_table), streams, storm.settle, ignore)
    await storm.run(40, 5, rebuilt, lambda: catch_up(each_table, streams))
