"""Makes the moderation rule from the settings and the file of words."""

from features.moderation.settings import ModerationSettings
from features.moderation.words import MAX_PHRASE, Moderation, WordList
from server.errors import CommandError
from server.findings import Finding, danger, ok


def moderation_of(settings: ModerationSettings) -> Moderation:
    """Return the moderation rule. Raise CommandError if the file of words cannot be used.

    Each line of the file is a word or a phrase. Empty lines and lines that begin with ``#`` are
    ignored.
    """
    file = settings.moderation_words
    if settings.moderation != "words" or file is None:
        before = settings.moderation == "before-publishing"
        return Moderation(before_publishing=before, review_at=settings.review_at)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise CommandError(f"The list of words {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"The list of words {file} is not UTF-8: save it as UTF-8.") from error
    phrases = {
        number: line.strip()
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    if not phrases:
        raise CommandError(
            f"The list of words {file} is empty: write a word or a phrase in each line."
        )
    try:
        return Moderation(words=WordList(phrases.values()), review_at=settings.review_at)
    except ValueError as error:
        number = list(phrases)[error.args[0]]
        raise CommandError(
            f"{file}, line {number}: a word or phrase must have a letter or a digit, and at most "
            f"{MAX_PHRASE} characters."
        ) from error


def checked(settings: ModerationSettings) -> Finding:
    """Check that the file with the moderation words can be read."""
    try:
        moderation_of(settings)
    except CommandError as error:
        return danger("moderation", str(error))
    return ok("moderation", "its list of words can be read.")
