"""How changes get from the process that wrote them to all that are listened to."""

from abc import ABC, abstractmethod
from typing import Protocol

from dal.live.changes import Doubt, News, change_of
from dal.live.log import Log
from dal.model import Comment


class Broker(Protocol):
    """Publishes changes; ``log`` has what this and all other processes have published."""

    log: Log

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Publish an acknowledged write."""

    def doubtful(self, product_id: str) -> None:
        """Publish that a write about a product was perhaps done."""


class PublishingBroker(ABC):
    """Makes changes of writes; how they are published is its subclasses' own."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or Log()

    def changed(self, old: Comment | None, new: Comment | None) -> None:
        """Publish an acknowledged write."""
        self.publish(change_of(old, new))

    def doubtful(self, product_id: str) -> None:
        """Publish that a write about a product was perhaps done."""
        self.publish(Doubt(product_id))

    @abstractmethod
    def publish(self, news: News) -> None:
        """Bring a change, or a doubt, to every process's log."""


class InProcessBroker(PublishingBroker):
    """The broker of a process that serves alone: its own log is all there is."""

    def publish(self, news: News) -> None:
        """Append to the log; who listens hears of it before the writer does."""
        self.log.append(self.log.last.number + 1, news)
