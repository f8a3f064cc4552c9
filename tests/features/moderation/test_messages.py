"""The sentences of moderation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from features.moderation import repository
from features.moderation.settings import ModerationSettings
from features.moderation.word_file import moderation_of
from server.errors import CommandError
from tests.server.cli.commands.saying import sentences_of


def test_a_decision_on_an_older_text_has_a_sentence() -> None:
    sentence = "The comment was edited since you read it: read it again, then decide."
    assert sentence == repository._EDITED


FILE = Path("file")


def words(content: str) -> object:
    FILE.write_text(content)
    return moderation_of(ModerationSettings(moderation="words", moderation_words=FILE))


MESSAGES: list[tuple[Callable[[], object], str]] = [
    (lambda: words(""), "The list of words file is empty: write a word or a phrase in each line."),
    (
        lambda: words("..."),
        (
            "file, line 1: a word or phrase must have a letter or a digit, and at most 100 "
            "characters."
        ),
    ),
]


@pytest.mark.parametrize(("given", "sentence"), MESSAGES)
def test_a_list_of_words_is_refused(
    given: Callable[[], object], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError) as refused:
        given()
    assert str(refused.value) == sentence


SENTENCES: dict[str, list[str]] = {
    "user block a/b --reason Spam": [
        "User a/b is blocked: new comments and edits wait for a moderator.",
    ],
    "user unblock a/b": [
        "User a/b is not blocked.",
    ],
}
"""The sentences that each command prints."""


async def test_commands_of_blocks(table: Table, store: list[str]) -> None:
    assert sentences_of(SENTENCES, table, store) == SENTENCES
