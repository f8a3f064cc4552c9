"""The English messages of the pages, and the catalogues of the other languages.

``make docs`` adds new messages to the catalogues without a translation, and removes unused ones.
"""

from collections.abc import Iterator
from pathlib import Path

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


def merged(tag: str) -> Catalog:
    """Return the catalogue of a language with new messages added and unused ones removed."""
    with (CATALOGUES / tag / "messages.po").open("rb") as file:
        catalogue = read_po(file, locale=tag)
    catalogue.update(messages(), no_fuzzy_matching=True, update_creation_date=False)
    catalogue.obsolete.clear()
    return catalogue


def write(tag: str) -> None:
    """Write the merged catalogue of a language."""
    catalogue = merged(tag)
    # Babel's header contains dates and authors, but Git has them already.
    catalogue.revision_date = catalogue.creation_date
    catalogue.msgid_bugs_address = ""
    catalogue.last_translator = catalogue.language_team = "Marginalia"
    with (CATALOGUES / tag / "messages.po").open("wb") as file:
        write_po(file, catalogue, width=100, include_lineno=False, sort_by_file=True)


def _of(method: str, path: Path) -> Iterator[_Found]:
    yield from extract_from_file(method, path, _KEYWORDS, (), _OPTIONS)


if __name__ == "__main__":
    for each in TRANSLATED:
        write(each)
