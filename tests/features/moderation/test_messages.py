"""The sentences of moderation."""

from features.moderation import repository


def test_a_decision_on_an_older_text_has_a_sentence() -> None:
    sentence = "The comment was edited since you read it: read it again, then decide."
    assert sentence == repository._EDITED
