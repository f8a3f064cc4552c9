"""Publishes the changes of comments after each write: the last rule of the writes of comments."""

from collections.abc import Sequence

from dal.writes.changes import CommentChange, WriteRule
from features.live.changes import LogEntry, UncertainWrite, change_of, new_epoch
from features.live.log import Log


class Broker(WriteRule):
    """Publishes this process's writes of published comments to the log of this process.

    The subclass ``RedisBroker`` publishes them to the logs of all processes.
    """

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or Log()

    async def start(self) -> None:
        """Connect to the other processes, if there are any."""

    async def close(self) -> None:
        """Publish the last changes, and disconnect."""

    def committed(self, change: CommentChange) -> None:
        """Publish an acknowledged write, if the comment is published before or after it."""
        if change.before or change.after:
            self.publish(change_of(change.before, change.after))

    def uncertain(self, changes: Sequence[CommentChange]) -> None:
        """Publish that the outcome of a write to the comments of these products is unknown."""
        comments = [one for each in changes for one in (each.before, each.after) if one]
        for product_id in {comment.product_id for comment in comments}:
            self.publish(UncertainWrite(product_id))

    def publish(self, entry: LogEntry) -> None:
        """Append the entry to the log, so that listeners receive it before the write returns."""
        self.log.append(self.log.last.number + 1, entry)

    def erased(self, erasure: str) -> None:  # noqa: ARG002 - only one process has this log
        """Begin a new epoch, because texts of an erased user may be in the log.

        ``erasure`` is the id of the erasure. Several processes may pass the same id.
        """
        self.log.begin(new_epoch(), 0)
