"""Parses fenced blocks, links and headings of Markdown pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>```+)(?P<language>[\w-]*)[^\n]*\n"
    r"(?P<text>.*?)^(?P=indent)(?P=marks) *$",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(
    r"<!-- *(?P<word>not run|stopped): *(?P<reason>(?:(?!-->).)+?) *-->\s*\Z", re.DOTALL
)
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?P<target>[^()\s]+(?:\([^)]*\))?[^()\s]*)\)"
)
_HTML = re.compile(r"""\b(?:src|href)="(?P<target>[^"]+)\"""")
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_ANCHOR = re.compile(r"""<a (?:id|name)="([^"]+)">""")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block; ``line`` is the line of its opening fence.

    ``note`` is the first word of the HTML comment before the block: ``not run`` or ``stopped``.
    ``reason`` is the rest of that comment. Both are empty if the block has no comment.
    """

    language: str
    text: str
    line: int
    note: str = ""
    reason: str = ""


def fences(text: str) -> Iterator[Fence]:
    """Yield the fenced blocks of a page in order."""
    for found in _FENCE.finditer(text):
        note = _NOTE.search(text, 0, found.start())
        indent = len(found["indent"])
        yield Fence(
            found["language"],
            "".join(line[indent:] or "\n" for line in found["text"].splitlines(keepends=True)),
            text.count("\n", 0, found.start()) + 1,
            *((note["word"], " ".join(note["reason"].split())) if note else ()),
        )


def prose(text: str) -> str:
    """Return a page with its code replaced by spaces. The length of each line stays the same."""
    return _INLINE_CODE.sub(_blank, _FENCE.sub(_blank, text))


def links(text: str) -> Iterator[str]:
    """Yield the targets of a page's links and pictures, in Markdown and HTML."""
    plain = prose(text)
    for found in (*_LINK.finditer(plain), *_HTML.finditer(plain)):
        yield found["target"]
        yield from links(found.groupdict().get("text") or "")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub and the documentation's site name them."""
    plain = _FENCE.sub(_blank, text)
    named = set(_ANCHOR.findall(plain))
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(plain):
        slug = slug_of(heading)
        count = seen[slug] = seen.get(slug, -1) + 1
        named.add(f"{slug}-{count}" if count else slug)
    return named


def slug_of(heading: str) -> str:
    """Return the anchor of a heading."""
    shown = _LINK.sub(lambda found: found["text"], heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-")


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
