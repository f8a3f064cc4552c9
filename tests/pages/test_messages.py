"""Every text of the pages is marked for translation, and every message is translated.

The sentences of ``pages/sign_in.py`` are for operators: only the log shows them.
"""

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import jinja2
import pytest
from babel.messages import Catalog
from babel.messages.pofile import read_po
from jinja2 import nodes

from pages import i18n
from pages.rendering import environment
from server.auth.claims import InvalidTokenError
from tests.pages.messages import TRANSLATED, messages, modules, templates, updated
from tests.pages.test_sign_in import finish

_PLACEHOLDER, _TAG = re.compile(r"%\(\w+\)s|%%|\{(?=\d?\})"), re.compile(r"</?\w+")

_WHOLE = re.compile(r"\{% trans\b.*?endtrans %\}|\{#.*?#\}", re.DOTALL)
_EXPRESSIONS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)

_ATTRIBUTES = re.compile(r'[\w-]+="[^"]*"')
"""Arguments of macros, which remain in a template's text without its expressions."""

_NAMES = {"Marginalia", "GraphiQL", "RCU"}
"""Words that no language translates."""

_SHOWN = {"alt", "aria-label", "placeholder", "title", "data-copy", "data-some"}
"""Attributes whose text browsers show or read out."""

_TRANSLATING = {"_", "gettext", "ngettext", "plural_forms"}
"""Functions that translate their arguments."""


SIGN_INS = [
    ({"code": ""}, "This sign-in was not started here."),
    ({"nonce": None}, "This ID token belongs to another sign-in."),
    ({"azp": "other"}, "This ID token belongs to another client."),
    (
        {"sub": "\U0001f600" * 128, "name": "\U0001f600" * 128},
        "This server has no secret, or the user's name is too long for a cookie.",
    ),
]


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_catalogue_has_every_message_and_no_other(tag: str) -> None:
    held = _stored(tag)
    assert not held.obsolete
    assert [one.id for one in held if one.fuzzy and one.id] == []
    missing = {one.id for one in messages()} ^ {one.id for one in held}
    assert not missing, "`make docs` brings the catalogues up to date"
    assert [one.id for one in held if not _whole(one.string)] == []


@pytest.mark.parametrize("tag", TRANSLATED)
def test_an_update_changes_only_the_entries_of_new_and_unused_messages(tag: str) -> None:
    text = (i18n.CATALOGUES / tag / "messages.po").read_text("utf-8")
    found = messages()
    assert updated(text, found) == text
    found.add(("%(count)s new", "%(count)s new ones"), context=None)
    added = updated(text, found)
    assert added.startswith(text)
    assert added.count("msgid_plural") == text.count("msgid_plural") + 1
    assert updated(added, found) == added
    assert updated(added, messages()) == text


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_translation_uses_the_words_of_the_glossary(tag: str) -> None:
    wrong = []
    for one in _stored(tag):
        english, translated = " ".join(_forms(one.id)), " ".join(_forms(one.string))
        for term in _glossary():
            named = re.search(rf"\b{term['en']}s?\b", _PLACEHOLDER.sub("", english), re.IGNORECASE)
            if named and not any(_form(word).search(translated) for word in term[tag].split(", ")):
                wrong.append((term["en"], term[tag], english, translated))
    assert wrong == []


def _stored(tag: str) -> Catalog:
    with (i18n.CATALOGUES / tag / "messages.po").open("rb") as file:
        return read_po(file, locale=tag)


def _glossary() -> list[dict[str, str]]:
    """Return the rows of the glossary. Each has a term in every language."""
    with (i18n.CATALOGUES / "glossary.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))


def _form(word: str) -> re.Pattern[str]:
    """Return a pattern for a term of the glossary, in which ``…`` means any ending."""
    return re.compile(re.escape(word).replace("…", r"\w*"), re.IGNORECASE)


def _forms(text: Any) -> Sequence[str]:
    return [text] if isinstance(text, str) else text


def _whole(string: Any) -> bool:
    return bool(string) if isinstance(string, str) else all(string)


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_translation_has_the_placeholders_and_elements_of_its_message(tag: str) -> None:
    """Only the plural forms for zero, one and two may omit the number."""
    wrong = []
    for one in _stored(tag):
        if not one.id:
            continue
        ids, forms = cast("Any", one.id), cast("Any", one.string)
        wanted = [ids, ids] if isinstance(ids, str) else list(ids)
        strings = (forms,) if isinstance(forms, str) else forms
        for place, form in enumerate(strings):
            said, held = _held(wanted[min(place, 1) if len(strings) > 1 else -1]), _held(form)
            less = said - held
            spelt = (
                len(strings) > 1
                and place <= 2
                and not set(less) - {"%(count)s", "%(total)s", "%(number)s"}
            )
            if held - said or (less and not spelt) or '"' in _TAGGED.sub("", form):
                wrong.append(form)
    assert wrong == []


def test_arabic_nouns_are_in_the_accusative_after_11_to_99_and_not_after_100() -> None:
    """Form 4 is CLDR's category "other", for 100.

    The accusative is right only in the last form, "many".
    """
    for one in _stored("ar"):
        if isinstance(one.id, tuple):
            assert not re.search(r"%\(\w+\)s \S+ًا", cast("Any", one.string)[4]), one.id


def test_no_line_begins_or_ends_at_a_space_of_french_punctuation() -> None:
    for one in _stored("fr"):
        assert not re.search("« | [»:;?!]", str(one.string)), one.string


_TAGGED = re.compile(r"<[^>]*>")


def _held(text: str) -> Counter[str]:
    return Counter(_PLACEHOLDER.findall(text) + _TAG.findall(text))


def test_plural_forms_equal_those_of_the_browser() -> None:
    with i18n.speaking("ar"):
        forms = i18n.plural_forms("%(count)s new comment", "%(count)s new comments")
    assert set(forms) == {"zero", "one", "two", "few", "many", "other"}
    assert len(set(forms.values())) == 6
    with i18n.speaking("en"):
        assert set(i18n.plural_forms("%(count)s row", "%(count)s rows")) == {"one", "other"}


class _Words(HTMLParser):
    """Finds the words of a template's HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._within: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within.append(tag)
        self._note(*(value or "" for name, value in attrs if name in _SHOWN))

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "code"} & {*self._within[-1:]}:
            self._note(_ATTRIBUTES.sub("", data))

    def _note(self, *texts: str) -> None:
        for text in texts:
            self.found += [word for word in re.findall(r"[^\W\d_]{2,}", text) if word not in _NAMES]


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.name)
def test_a_template_has_no_untranslated_text(path: Path) -> None:
    text = path.read_text("utf-8")
    beside = _EXPRESSIONS.sub("", _WHOLE.sub("", text))
    assert _Words(beside).found == []
    within = environment(i18n.SOURCE).parse(text)
    assert list(_sentences(within)) == []


def _sentences(node: nodes.Node) -> Iterator[str]:
    """Yield the strings in a template's expressions that look like English text."""
    if isinstance(node, nodes.Call):
        name = getattr(node.node, "name", getattr(node.node, "attr", ""))
        if name in _TRANSLATING:
            return
    value = getattr(node, "value", None)
    if isinstance(value, str) and re.search(r"(?<![a-z.])[A-Z][a-z]|[a-z] [a-z]", value):
        yield value
    if isinstance(node, nodes.Import | nodes.Extends | nodes.Include):
        return
    for below in node.iter_child_nodes():
        yield from _sentences(below)


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_an_error_page_has_no_untranslated_text(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    plain = [
        ast.unparse(call)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "PageFault"
        for said in call.args[1:]
        if isinstance(said, ast.Constant | ast.JoinedStr)
    ]
    assert plain == []


def test_the_check_finds_unmarked_text() -> None:
    assert _Words('<p>Hello <b title="There">5</b> Marginalia</p>').found == ["Hello", "There"]
    plain = jinja2.Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    within = plain.parse("{{ 'Newer' if a else _('Older') }}{{ b or ' pictured' }}")
    assert list(_sentences(within)) == ["Newer"]


@pytest.mark.parametrize(("changes", "sentence"), SIGN_INS)
async def test_a_refused_sign_in_has_a_sentence(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await finish(monkeypatch, "keycloak", changes)
    assert str(caught.value) == sentence
