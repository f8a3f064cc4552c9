"""The text of HTML."""

import pytest

from dal.table.errors import InvalidArgumentError
from features.loading.column_mapping import Preset, make_column_mapping
from features.loading.html_text import MAX_HTML_CHARACTERS, text_of
from features.loading.kind import COMMENTS
from tests.features.loading.reading import row

TEXTS = {
    "<p>Good.<br>Small &amp; light</p>\n<p>Again!</p>": "Good.\nSmall & light\n\nAgain!",
    "one<br />\ntwo<br/>three\nfour": "one\ntwo\nthree\nfour",
    "<ul><li>a<li>b</ul>c": "a\n\nb\n\nc",
    "<b>never <i>closed": "never closed",
    "a<script>alert('</p>')</script><style>p{}</style>b<!-- c -->": "ab",
    "x<script>never closed": "x",
    "a < b and <3": "a < b and <3",
    "&lt;b&gt; &quot;&#8217;&nbsp;&amp;lt;": '<b> "\u2019 &lt;',
    '<p title="<br>" onclick="x()">a</p>': "a",
}


@pytest.mark.parametrize("html", TEXTS)
def test_the_text_of_html_is_what_a_browser_shows(html: str) -> None:
    assert text_of(html) == TEXTS[html]


def test_texts_titles_names_and_replies_are_html_if_the_option_says_so() -> None:
    prose = ("title", "text", "author_name", "reply")
    cells = row(**dict.fromkeys(prose, "A &amp; <i>B</i>"))
    for html, text in ((True, "A & B"), (False, "A &amp; <i>B</i>")):
        made = make_column_mapping(COMMENTS, [], [], Preset(html=html)).make(cells).comment
        assert {made.title, made.text, made.author_name, made.reply.text} == {text}


def test_a_text_that_is_only_tags_is_empty() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], Preset(html=True, default={"text": "?"}))
    assert mapping.make(row(text="<p>&nbsp;</p>")).text == "?"


def test_a_megabyte_of_nested_html_is_refused_before_it_is_parsed() -> None:
    mapping = make_column_mapping(COMMENTS, [], [], Preset(html=True))
    assert text_of(("<div>" * MAX_HTML_CHARACTERS)[:MAX_HTML_CHARACTERS]) == ""
    with pytest.raises(InvalidArgumentError) as refused:
        mapping.make(row(text="<div>" * 200_000))
    assert refused.value.argument == "text"


def test_half_a_character_in_html_is_refused_with_the_row() -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        make_column_mapping(COMMENTS, [], [], Preset(html=True)).make(row(text="<p>\ud800</p>"))
    assert refused.value.argument == "text"
