"""Fills the analytics store by an export, and keeps it up by the follower of the table's stream."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from analytics.change_log import goes_on, new_run, open_change_log
from analytics.store import AnalyticsStore, Base
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.table import admin
from dal.table.client import Table, connect_streams
from dal.table.parallel_scan import Progress
from server.analytics.asking import is_filled, open_analytics
from server.engine.storage import Store
from server.errors import CommandError
from server.exporter.run import export
from server.exporter.target import directory_of
from server.settings import Settings
from stream.checkpoints import Checkpoints, label_of
from stream.comment_log import CommentLog


async def refresh(settings: Settings, store: Store, seen: Progress) -> Base:
    """Export all comments beside what is held, then let that count, at once for whoever asks.

    While the counters are kept from the table's stream, a run of following begins with it.
    """
    analytics = await open_analytics(settings)
    try:
        stream = await _begin_run(analytics, store)
        covered = await analytics.kept()
        with _room(settings.data_dir) as folder:
            target = directory_of(Path(folder), ["comments"], "parquet")
            manifest = await export(store.table, target, store.place, seen)
            began = datetime.fromisoformat(manifest.begun)
            return await analytics.fill(target.files["comments"], began, stream, covered)
    finally:
        await analytics.close()


class CommentLogs:
    """Opens what the follower is to hand changes to, over one store."""

    def __init__(self, settings: Settings, table: Table) -> None:
        self._settings = settings
        self._table = table
        self._store: AnalyticsStore | None = None

    async def open(self) -> CommentLog | None:
        """Return the log where it stands now; None where nothing was ever filled.

        AnalyticsUnavailableError where the store is away, or has no run that can go on.
        """
        stream = await admin.stream(self._table)
        if stream is None or not is_filled(self._settings):
            return None
        if self._store is None:
            self._store = await open_analytics(self._settings)
        return CommentLog(await open_change_log(self._store, label_of(stream), _now()))

    async def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            await self._store.close()


async def _begin_run(analytics: AnalyticsStore, store: Store) -> str | None:
    """Return the stream that is followed; a run that cannot go on gives way to a new one.

    The new one begins where the counters are: what they have is in an export that begins later.
    """
    if (await MaintenanceStore(store.table).read()).mode is not MaintenanceMode.STREAM:
        return None
    arn = await admin.stream(store.table)
    if arn is None:
        return None
    stream = label_of(arn)
    following = (await analytics.state()).following
    if following is None or not goes_on(following, stream, _now()):
        async with connect_streams(store.connection) as streams:
            shards = [shard.shard_id for shard in (await streams.describe(arn)).shards]
        counted = await Checkpoints(store.table, stream).read(shards)
        reached = {shard: (one.sequence, one.done) for shard, one in counted.items()}
        await analytics.follow(new_run(stream, reached, _now()))
    return stream


def _room(data_dir: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder on the disk of the data, for an export that is gone afterwards."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="analytics-export-", dir=data_dir)
    except OSError as error:
        raise CommandError(
            f"{data_dir} cannot be written ({error.strerror}): name another --data-dir."
        ) from error


def _now() -> datetime:
    return datetime.now(UTC)
