"""Edits by authors on a server with moderation."""

from functools import partial

from dal.model.standings import Permission
from dal.writes.comments import Edit
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation, WordList

MAY_WRITE = Permission(blocked=False, erasing=False, bought=False)


def edit_by_author(*words: str) -> Edit:
    """Return an edit by an author on a server whose list has these words."""
    rule = Moderation(words=WordList(words))
    return partial(ModeratedPublication(rule).edited, MAY_WRITE, moderator=False)
