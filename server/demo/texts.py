"""What the demo's comments say: sentences from ``phrases/<language>.json``, put together.

Each file holds, for one language: ``titles`` and ``short`` texts by rating, ``openings`` and
``closings`` by mood, ``scenes`` that judge nothing, and ``praise`` and ``complaints``, general and
by product. ``between`` stands between two sentences, and ``{n}`` for a number from 3 to 9, a range
in which every one of the languages has the same plural.
"""

import functools
import json
from importlib import resources
from typing import TypedDict, cast

from server.demo.seeded_random import SeededRandom

_MOODS = {1: "bad", 2: "bad", 3: "mixed", 4: "good", 5: "good"}
_PRAISED = {1: 0.0, 2: 0.3, 3: 0.5, 4: 0.8, 5: 1.0}
"""The share of a comment's points that are praise, by rating."""

_LENGTHS = {"short": 18, "note": 42, "review": 30, "story": 10}


class _Points(TypedDict):
    praise: list[str]
    complaints: list[str]


class Phrases(_Points):
    """One language's phrases, in the shape of its file."""

    between: str
    usernames: list[str]
    titles: dict[str, list[str]]
    short: dict[str, list[str]]
    openings: dict[str, list[str]]
    scenes: list[str]
    closings: dict[str, list[str]]
    products: dict[str, _Points]


@functools.cache
def phrases(language: str) -> Phrases:
    """Return the phrases of a language."""
    file = resources.files("server.demo") / "phrases" / f"{language}.json"
    return cast("Phrases", json.loads(file.read_text("utf-8")))


class Author:
    """Writes one comment of a rating about a product, and says no sentence twice in it."""

    def __init__(self, random: SeededRandom, language: str, product_id: str, rating: int) -> None:
        self._random = random
        self._phrases = phrases(language)
        self._rating = rating
        self._mood = _MOODS[rating]
        about = self._phrases["products"][product_id]
        self._praise = self._mixed(about["praise"], self._phrases["praise"])
        self._complaints = self._mixed(about["complaints"], self._phrases["complaints"])
        self._scenes = random.shuffled(self._phrases["scenes"])

    def title(self) -> str:
        """Return a title that fits the rating; one in ten comments has none."""
        if self._random.chance(0.1):
            return ""
        return self._random.pick(self._phrases["titles"][str(self._rating)])

    def text(self) -> str:
        """Return a few words, a note, a review or, in one of ten, several paragraphs."""
        length = self._random.weighted(list(_LENGTHS), list(_LENGTHS.values()))
        if length == "short":
            return self._random.pick(self._phrases["short"][str(self._rating)])
        if length == "note":
            opening = [self._opening()] if self._random.chance(0.4) else []
            return self._paragraph([*opening, *self._points(self._random.number(1, 3))])
        if length == "review":
            points = self._points(self._random.number(2, 4))
            return self._paragraph([self._opening(), self._scenes.pop(), *points, self._closing()])
        return self._story()

    def _story(self) -> str:
        middle = [
            self._paragraph([self._scenes.pop(), *self._points(2)])
            for _ in range(self._random.number(1, 3))
        ]
        first = self._paragraph([self._opening(), self._scenes.pop(), self._scenes.pop()])
        return "\n\n".join([first, *middle, self._paragraph([self._closing()])])

    def _points(self, count: int) -> list[str]:
        """Return ``count`` sentences of praise and complaint, as the rating has it."""
        praised = round(count * _PRAISED[self._rating])
        points = [self._praise.pop() for _ in range(praised)]
        return points + [self._complaints.pop() for _ in range(count - praised)]

    def _mixed(self, particular: list[str], general: list[str]) -> list[str]:
        """Return phrases to take from the end; the first one taken is about the product."""
        first, *others = self._random.shuffled(particular)
        return [*self._random.shuffled([*general, *others]), first]

    def _opening(self) -> str:
        return self._random.pick(self._phrases["openings"][self._mood])

    def _closing(self) -> str:
        return self._random.pick(self._phrases["closings"][self._mood])

    def _paragraph(self, sentences: list[str]) -> str:
        numbered = [one.replace("{n}", str(self._random.number(3, 9))) for one in sentences]
        return self._phrases["between"].join(numbered)
