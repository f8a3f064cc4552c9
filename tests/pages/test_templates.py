"""Templates and their messages are compiled, and the pages' documents can be compiled."""

import jinja2
import pytest
from graphql import parse, validate
from markupsafe import Markup

from pages import i18n
from pages.page_documents import DOCUMENTS, PLAIN
from pages.rendering import environment
from schema.build import build_schema
from schema.execution.compiled.operation import MAX_CONDITIONS, conditions_in

SAID = (
    '{{ _("Newest first") }}',
    '<a title="{{ _("Sign in") }}">{{ _("Older") if one else _("Newer") }}</a>',
    '{% set old, new = (_("Older"), _("Newer")) %}{{ old }}{{ [new] }}',
    '{% macro said(text) %}<b>{{ text }}</b>{% endmacro %}{{ said(_("Sign in")) }}',
    '{{ _("%(rating)s out of 5 stars", rating=name) }}',
    '{% set it = _("%(rating)s out of 5 stars", rating=name) %}{{ it }}',
    '{{ ngettext("%(count)s comment", "%(count)s comments", many, count=name) }}',
    "{% trans day=name, instant=many %}edited <time>{{ day }}</time>{{ instant }}{% endtrans %}",
    "{% trans n=many, of=name %}<b>{{ of }}</b> star{% pluralize n %}{{ of }} stars{% endtrans %}",
    "{% trans %}100% of it{% endtrans %}",
    '{{ _("100%% of it") }}',
    '{{ _("100%% of %(it)s", it=name) }}',
)
"""Messages in every place of a template. Some are not in the catalogues."""


@pytest.mark.parametrize("tag", i18n.LOCALES)
@pytest.mark.parametrize("many", [0, 1, 2, 5, 11, 100])
def test_compiled_messages_equal_the_translated_messages(tag: str, many: int) -> None:
    plain = jinja2.Environment(extensions=["jinja2.ext.i18n"], autoescape=True, trim_blocks=True)
    plain.install_gettext_callables(  # type: ignore[attr-defined] # the extension's
        i18n.gettext, i18n.ngettext, newstyle=True
    )
    facts = {"many": many, "one": many == 1, "name": "<i> & %(x)s {{ 5 }}"}
    with i18n.speaking(tag):
        for text in SAID:
            looked_up = plain.from_string(text).render(facts)
            assert environment(tag).from_string(text).render(facts) == looked_up


def test_values_in_a_message_are_escaped() -> None:
    """Only HTML that the pages' own code created is not escaped."""
    shown = environment("en").from_string('{{ _("%(a)s and %(b)s", a=a, b=b) }}')
    assert shown.render(a="<", b=Markup("<b>")) == "&lt; and <b>"


def test_a_template_is_compiled_once_for_each_language() -> None:
    with i18n.speaking("de"):
        german = environment(i18n.spoken()).get_template("base.html")
        assert environment(i18n.spoken()).get_template("base.html") is german
    with i18n.speaking("fr"):
        assert environment(i18n.spoken()).get_template("base.html") is not german


def test_only_indentation_is_removed_from_templates() -> None:
    text = "<p>\n    {{ one }} of {{ two }}\n  {% if one %}\n    a\n  {% endif %}\n</p>"
    assert environment("en").from_string(text).render(one=1, two=2) == "<p>\n1 of 2\na\n</p>"


def test_keys_of_a_dict_take_precedence_over_its_methods() -> None:
    shown = environment("en").from_string("{{ it.items }} {{ it.values is defined }} {{ it.get }}")
    assert shown.render(it={"items": 5, "get": "got"}) == "5 True got"
    with pytest.raises(jinja2.UndefinedError):
        environment("en").from_string("{{ it.there }}").render(it={})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_of_the_pages_is_compiled(name: str) -> None:
    """With more variables in directives, graphql-core would execute the document, ten
    times slower.
    """
    conditions = conditions_in(parse(DOCUMENTS[name]))
    assert conditions is not None
    assert len(conditions) <= MAX_CONDITIONS


@pytest.mark.parametrize("name", [one for one in PLAIN if one != "playground"])
def test_a_document_is_valid_with_plans_and_without(name: str) -> None:
    """The playground needs plans, so only its document may be invalid without them."""
    assert validate(build_schema()._schema, parse(PLAIN[name])) == []
    assert validate(build_schema(explain=True)._schema, parse(DOCUMENTS[name])) == []
