"""Comments that wait for a moderator because of their photos."""

from dataclasses import replace

import pytest

from dal.model import Photo
from dal.model.submissions import ReviewCause, Submission
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation, WordList
from tests.features.moderation.edits import MAY_WRITE
from tests.strategies import comment

ONE = Photo("https://p.example/1.jpg?size=9", "On my stove")
TWO = Photo("https://p.example/2.jpg")


@pytest.mark.parametrize(
    "photo",
    [
        replace(ONE, alt="Spam!"),
        Photo("https://spam.example/1.jpg"),
        Photo("https://p.example/s%70%C2%ADam.jpg"),
    ],
)
def test_a_comment_whose_photo_text_has_a_listed_word_waits_for_a_moderator(photo: Photo) -> None:
    publication = ModeratedPublication(Moderation(words=WordList(["spam"])))
    held = publication.added(MAY_WRITE, comment(photos=(photo,)), moderator=False)
    assert isinstance(held, Submission)
    assert (held.cause, held.photos) == (ReviewCause.WORDS, (photo,))


def test_a_blocked_users_new_photos_wait_for_a_moderator() -> None:
    publication, blocked = ModeratedPublication(Moderation()), replace(MAY_WRITE, blocked=True)
    old = comment(photos=(ONE,))
    for new in (old._replace(rating=4), old):
        assert publication.edited(blocked, old, new, moderator=False) is new
    new = old._replace(photos=(TWO,))
    held = publication.edited(blocked, old, new, moderator=False)
    assert isinstance(held, Submission)
    assert (held.cause, held.photos) == (ReviewCause.BLOCKED, (TWO,))
