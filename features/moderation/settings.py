"""The settings of moderation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from server.option import setting

ModerationRule: TypeAlias = Literal["off", "before-publishing", "words"]


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
