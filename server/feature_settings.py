"""The settings of features. ``server.settings.Settings`` inherits them.

The classes have no slots, because a class cannot inherit several classes with slots.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from server.option import setting, split

ModerationRule: TypeAlias = Literal["off", "before-publishing", "words"]


def _is_redis_url(text: str) -> bool:
    parts = split(text)
    path = parts.path.strip("/")
    if parts.scheme == "unix":
        return bool(path)
    database = not path or path.isdecimal()
    return parts.scheme in {"redis", "rediss"} and bool(parts.hostname) and database


_REDIS_URL = (
    _is_redis_url,
    "is not a URL such as redis://127.0.0.1:6379/0, rediss://host:6379 or unix:///run/redis.sock.",
)
_store = partial(setting, panel="Store")


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """The settings of the demo data."""

    demo: bool = setting(
        False,
        "Load demo data once, and let every visitor write as the user demo. Visitors use the JWT "
        "that the server prints, or sign in on the pages with one click.",
    )


@dataclass(frozen=True, kw_only=True)
class ModerationSettings:
    """The settings of moderation."""

    moderation: ModerationRule = setting(
        "off",
        "Which new and edited comments wait for a moderator. off: none. before-publishing: all. "
        "words: comments with a word of --moderation-words.",
    )
    moderation_words: Path | None = setting(
        None,
        "UTF-8 file with the words for '--moderation words'. Each line is a word or a phrase. "
        "Lines that begin with '#' are ignored.",
    )
    review_at: int = setting(
        5,
        "Number of reports after which a published comment waits for a moderator.",
        bounds=(1, 100),
    )

    def conflicts(self) -> dict[str, bool]:
        """Return, for each message about contradicting settings, whether the message applies."""
        return {
            "--moderation words and --moderation-words FILE need each other: set both or none.": (
                (self.moderation == "words") != (self.moderation_words is not None)
            )
        }


@dataclass(frozen=True, kw_only=True)
class LiveSettings:
    """The settings of events for subscribers."""

    redis_url: str | None = _store(
        None,
        "URL of Redis, such as redis://127.0.0.1:6379/0. All workers and servers of a table use it "
        "to send changes to subscribers. Without Redis, a server with several workers refuses "
        "subscriptions. If the URL has a password, set the environment variable instead, because "
        "other users of the machine can see options.",
        check=_REDIS_URL,
        secret=True,
    )
