"""The English messages of the pages, and the catalogues of the other languages.

``make docs`` adds new messages to the catalogues without a translation, and removes unused ones.
"""

from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path

from babel import Locale
from babel.messages import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file
from babel.messages.pofile import read_po, write_po

from features.plans.reasons import ReasonCode
from features.plans.resolvers import EMPTY_BY_COUNTS, EMPTY_RANGE
from pages.i18n import CATALOGUES, LOCALES, SOURCE
from tests.engines import ROOT

PLANS, SKIPS = "features/plans/reasons.py", "features/plans/resolvers.py"

TEMPLATES = ROOT / "pages/templates"

TRANSLATED = tuple(tag for tag in LOCALES if tag != SOURCE)

_KEYWORDS = {**DEFAULT_KEYWORDS, "gettext_noop": None, "plural_forms": (1, 2)}

_Found = tuple[int, str | tuple[str, ...], list[str], str | None]

_WIDTH = 100
"""The maximum length of a line of a new entry."""

_OPTIONS = {"trimmed": "true", "silent": "false", "newstyle_gettext": "true"}


def templates() -> list[Path]:
    """Return the templates, which may contain messages."""
    return sorted(TEMPLATES.rglob("*.html"))


def modules() -> list[Path]:
    """Return the pages' modules, which may contain messages."""
    return sorted((ROOT / "pages").rglob("*.py"))


def messages() -> Catalog:
    """Return every message of the pages, including the reasons of plans."""
    found = Catalog(charset="utf-8")
    for method, paths in (("jinja2", templates()), ("python", modules())):
        for path in paths:
            name = str(path.relative_to(ROOT))
            for _, message, _, context in _of(method, path):
                found.add(message, locations=[(name, 0)], context=context)
    reasons = [(PLANS, code.value) for code in ReasonCode]
    for name, message in (*reasons, (SKIPS, EMPTY_RANGE), (SKIPS, EMPTY_BY_COUNTS)):
        found.add(message, locations=[(name, 0)])
    return found


def updated(text: str, found: Catalog) -> str:
    """Return the text of a catalogue with the messages of ``found``, and no others.

    New messages are at the end, without a translation. The other entries keep their places and
    lines, so that their authors can write the files by hand.
    """
    wanted = {one.id: one for one in found}
    header, *entries = text.rstrip("\n").split("\n\n")
    locale = read_po(StringIO(header)).locale
    held = {_id_of(entry, locale): entry for entry in entries}
    added = Catalog(locale=locale)
    for message, one in wanted.items():
        if message and message not in held:
            added.add(message, locations=one.locations, flags=one.flags, context=one.context)
    new = BytesIO()
    write_po(new, added, width=_WIDTH, include_lineno=False, omit_header=True)
    kept = [entry for message, entry in held.items() if message in wanted]
    return "\n\n".join(filter(None, [header, *kept, new.getvalue().decode().rstrip("\n")])) + "\n"


def _id_of(entry: str, locale: Locale | None) -> object:
    (message,) = [one.id for one in read_po(StringIO(entry), locale=locale) if one.id]
    return message


def _of(method: str, path: Path) -> Iterator[_Found]:
    yield from extract_from_file(method, path, _KEYWORDS, (), _OPTIONS)


if __name__ == "__main__":
    for each in TRANSLATED:
        path = CATALOGUES / each / "messages.po"
        path.write_text(updated(path.read_text("utf-8"), messages()), "utf-8")
