"""A store as the log of a follower: it keeps what each record of the stream made of a comment."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from analytics.errors import AnalyticsUnavailableError
from analytics.store import AnalyticsStore, ChangedComment, Following
from dal.model import Comment

RETENTION = timedelta(hours=23)
"""Records of a stream are kept for 24 hours: a run that was left for longer has lost some."""

NOT_BEGUN = (
    "Analytics is not kept up: run `marginalia analytics refresh` while the counters are kept from "
    "the stream."
)
REPLACED = "A refresh began another run of changes, which is followed from now on."


class ChangeLog:
    """The run that a store holds of one stream; a log of ``stream.comment_log``."""

    def __init__(self, store: AnalyticsStore, following: Following) -> None:
        self._store = store
        self._following = following

    def positions(self) -> Mapping[str, tuple[str | None, bool]]:
        """Return of each shard the last record that is kept, and whether it is done."""
        return self._following.shards

    def caught_up(self) -> datetime:
        """Return an instant before which every change is kept."""
        return self._following.caught_up

    async def keep(
        self,
        shard: str,
        sequence: str | None,
        changes: Sequence[tuple[str, str, Comment | None]],
        *,
        done: bool,
    ) -> None:
        """Keep changes, then that the shard is read so far.

        Where nothing changed, the latter is kept with what comes next: it is read again otherwise.
        """
        if changes:
            await self._store.append(self._following.run, [_row(*change) for change in changes])
        shards = {**self._following.shards, shard: (sequence, done)}
        self._following = replace(self._following, shards=shards)
        if changes:
            await self._follow()

    async def catch_up(self, instant: datetime) -> None:
        """Keep a later instant of ``caught_up``."""
        if instant > self._following.caught_up:
            self._following = replace(self._following, caught_up=instant)
            await self._follow()

    async def _follow(self) -> None:
        """Keep how far the run is, unless another one has taken its place."""
        held = (await self._store.state()).following
        if held is not None and held.run != self._following.run:
            raise AnalyticsUnavailableError(REPLACED)
        await self._store.follow(self._following)


async def open_change_log(store: AnalyticsStore, stream: str, now: datetime) -> ChangeLog:
    """Return the log of a stream, which was seen to take something.

    AnalyticsUnavailableError where it does not, or no run of the stream can go on.
    """
    following = (await store.state()).following
    if following is None or not goes_on(following, stream, now):
        raise AnalyticsUnavailableError(NOT_BEGUN)
    await store.follow(following)
    return ChangeLog(store, following)


def goes_on(following: Following, stream: str, now: datetime) -> bool:
    """Return whether all changes since a run stopped are still in the stream."""
    return following.stream == stream and now - following.caught_up <= RETENTION


def new_run(
    stream: str, shards: Mapping[str, tuple[str | None, bool]], began: datetime
) -> Following:
    """Return a run that begins after the last record given of each shard.

    What came before must be in an export that begins later.
    """
    return Following(secrets.token_hex(8), stream, began, began, shards)


def _row(comment_id: str, sequence: str, comment: Comment | None) -> ChangedComment:
    if comment is None:
        return ChangedComment(comment_id, sequence, "", 0, "", None)
    return ChangedComment(
        comment_id,
        sequence,
        comment.product_id,
        comment.rating,
        comment.language,
        comment.created_at,
    )
