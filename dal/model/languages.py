"""Language ranges: which comments a filter by language finds.

A filter by language is a list of ranges, as in RFC 4647, section 3.3.1 (basic filtering). The range
``en`` finds comments in ``en``, ``en-US`` and ``en-GB``. The range ``en-US`` finds comments in
``en-US``. Ranges and the comments' tags are canonical: see ``rules.language``.

The macrolanguage ``no`` (Norwegian) finds its two members ``nb`` (Bokmål) and ``nn`` (Nynorsk). So
this module writes them below ``no``, as ``no-nb`` and ``no-nn``: RFC 5646 calls this the extlang
form, and recommends it for matching. A comment in ``no`` counts as a comment in ``nb``, because
CLDR's distance between the two is 1, as between two names of one language.

``no`` is the only macrolanguage with such members, because CLDR's ``languageMatching`` matches no
other macrolanguage with a member in both directions. For example, readers of ``yue`` (Cantonese)
accept ``zh``, but readers of ``zh`` do not accept ``yue``.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache

_EXTENDED = {"no": "no-nb", "nb": "no-nb", "nn": "no-nn"}
"""The extlang form of each language in a comment's tag."""

_NAMES = {"no": ("no", "nb", "nn"), "nb": ("no", "nb")}
"""The languages in the tags that a range finds, for languages with several names."""

LANGUAGE_FIELDS = ("tag", "locale", "language")
"""The fields of filters whose values are ranges, the finest first. A comment has the value of a
field if the value is one of ``ranges_of``."""


def _extended(tag: str) -> str:
    primary, dash, rest = tag.partition("-")
    return f"{_EXTENDED.get(primary, primary)}{dash}{rest}"


# Comments have few different tags, and a page decodes one tag for each row.
@lru_cache(maxsize=10_000)
def ranges_of(tag: str) -> tuple[str, ...]:
    """Return all ranges that find comments with a tag, the coarsest first.

    For example, ``zh``, ``zh-Hant`` and ``zh-Hant-TW`` find comments in ``zh-Hant-TW``.
    """
    return coarser(_extended(tag))


def coarser(given: str) -> tuple[str, ...]:
    """Return a range, and before it all ranges that find the same comments and more."""
    subtags = given.split("-")
    return tuple(["-".join(subtags[:count]) for count in range(1, len(subtags) + 1)])


def language_of(tag: str) -> str:
    """Return the language in a tag: the coarsest range, such as ``en`` for ``en-US``."""
    return ranges_of(tag)[0]


def tag_of(given: str) -> str:
    """Return the tag of a filter by one range, such as ``nn-NO`` for ``no-nn-NO``."""
    return given.removeprefix("no-")


def locale_of(tag: str) -> str:
    """Return the first two subtags of a tag, such as ``zh-Hant`` for ``zh-Hant-TW``.

    The result is empty if the tag has one subtag.
    """
    return next(iter(ranges_of(tag)[1:2]), "")


def disjoint_ranges(tags: Iterable[str]) -> frozenset[str]:
    """Return the ranges of a filter by ``tags``. No comment is found by two of them."""
    asked: set[str] = set()
    for tag in tags:
        primary, _, rest = tag.partition("-")
        if primary == "no":  # with its members, for example in the range of Norwegian in Norway
            asked |= {f"no-nb-{rest}", f"no-nn-{rest}"} if rest else {"no"}
        else:
            asked.add(_extended(tag))
    return frozenset(one for one in asked if asked.isdisjoint(coarser(one)[:-1]))


def prefixes_of(tags: Iterable[str]) -> frozenset[str]:
    """Return the tags, and tags with their subtags, that a filter finds in a store of tags."""
    found: set[str] = set()
    for tag in tags:
        primary, dash, rest = tag.partition("-")
        found |= {f"{one}{dash}{rest}" for one in _NAMES.get(primary, (primary,))}
    return frozenset(found)


def finds(ranges: Collection[str], tag: str) -> bool:
    """Return whether one of a filter's ranges finds comments with a tag."""
    return any(one in ranges for one in ranges_of(tag))
