"""The file of words. A server with an empty file does not start."""

from pathlib import Path

import pytest

from dal.model.submissions import ReviewCause
from features.moderation.word_file import checked, moderation_of
from server.errors import CommandError
from server.findings import Level
from server.settings import Settings


def words(file: Path) -> Settings:
    return Settings(moderation="words", moderation_words=file)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", r"words\.txt is empty: "),
        (b"# a comment\n\n", r"words\.txt is empty: "),
        (b"fine\n\n...\n", "line 3: "),
        (b"x" * 101, "line 1: .* 100 "),
        (b"\xff", "is not UTF-8"),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_a_word_list_without_words_is_refused(
    tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(CommandError, match=sentence):
        moderation_of(words(tmp_path / "words.txt"))


def test_a_word_list_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("\ufeff# mine\r\nspam\r\n  buy now \r\n")
    moderation = moderation_of(words(tmp_path / "words.txt"))
    assert moderation.cause("Buy now") is ReviewCause.WORDS
    assert moderation.cause("mine") is None


def test_the_check_of_a_server_reads_the_file(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    assert checked(words(file)).level is Level.DANGER
    file.write_text("spam")
    assert checked(words(file)).level is Level.OK


@pytest.mark.parametrize("given", [{"moderation": "words"}, {"moderation_words": Path("x")}])
def test_the_rule_words_requires_a_word_list_and_a_word_list_requires_the_rule(
    given: dict[str, object],
) -> None:
    with pytest.raises(CommandError, match="need each other"):
        Settings(**given)  # type: ignore[arg-type]
