"""The text of HTML: scripts and tags removed, entities decoded, line breaks kept."""

import html
import re

import nh3

MAX_HTML_CHARACTERS = 50_000
"""Maximum characters of HTML in one cell. The time to parse nested elements grows with the square
of their number: 50,000 characters need half a second at most."""

_HIDDEN = {"script", "style", "template", "noscript", "iframe", "title"}
"""The elements whose content is not text."""
_LINES = {"br", "div", "li", "tr", "td", "th", "dt", "dd"}
"""The elements that begin a line."""
_PARAGRAPHS = {
    "p",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    *(f"h{level}" for level in range(1, 7)),
}
"""The elements that begin a paragraph, and end one."""
_LINE = re.compile(rf"<(?:{'|'.join(_LINES)})>\n?|</(?:{'|'.join(_LINES)})>")
_PARAGRAPH = re.compile(rf"</?(?:{'|'.join(_PARAGRAPHS)})>")
_BLANK_LINES = re.compile(r"\n{3,}")


def text_of(markup: str) -> str:
    """Return the text of HTML. Line breaks between the tags stay, too.

    ``nh3`` parses as browsers do, and leaves only the elements that begin lines or paragraphs,
    without attributes. So every ``<`` of its result belongs to one of these tags.
    """
    rest = nh3.clean(
        markup, tags=_LINES | _PARAGRAPHS, clean_content_tags=_HIDDEN, attributes={"*": set()}
    )
    broken = _PARAGRAPH.sub("\n\n", _LINE.sub("\n", rest))
    lines = [" ".join(line.split()) for line in html.unescape(broken).split("\n")]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
