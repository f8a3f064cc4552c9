"""Writes a review feed: joins comments with products, and splits the feed into files."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cachetools import LRUCache

from dal.model import Comment, ProductDetails
from dal.repositories.products import ProductRepository

SPLIT_BYTES = 100_000_000
"""Maximum bytes of a file. Google and Meta reject files above 100 MB."""

ANONYMOUS = "Anonymous"

_CACHED = 10_000
"""Number of products whose details the writer keeps, so that its memory has a limit."""

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Matches the characters that XML 1.0 forbids. https://www.w3.org/TR/xml/#charsets"""

LINK = re.compile(r"https?://\S+\.\S+")
"""Matches the links that Google's schema allows."""


def valid(text: str) -> str:
    """Return a text without the characters that XML forbids."""
    return _INVALID.sub("", text)


@dataclass(frozen=True, slots=True)
class Shop:
    """The shop of a feed. ``site`` is the origin of this server's paths, and ``url`` the shop's."""

    name: str
    site: str
    url: str
    icon: str | None = None
    shop_id: str | None = None

    def link(self, address: str) -> str:
        """Return a stored address as an absolute URL; an empty text if a feed cannot have it."""
        url = self.site + address if address.startswith("/") else address
        return url if LINK.fullmatch(url) else ""

    def photos(self, comment: Comment) -> list[str]:
        """Return the URLs of a comment's photos."""
        return [url for one in comment.photos if (url := self.link(one.url))]


@dataclass(frozen=True, slots=True)
class Review:
    """A comment of a feed, with its product. ``url`` is the URL of the product's page."""

    comment: Comment
    details: ProductDetails
    url: str

    @property
    def author(self) -> tuple[str, bool]:
        """The author's shown name, and whether the author is anonymous."""
        name = valid(self.comment.author_name).strip()
        anonymous = not name or name.casefold() == ANONYMOUS.casefold()
        return (ANONYMOUS if anonymous else name), anonymous

    @property
    def product_name(self) -> str:
        """The product's title, or the product's id if the shop has set no title."""
        return valid(self.details.title).strip() or valid(self.comment.product_id)


@dataclass(frozen=True, slots=True)
class FeedFormat:
    """The format of a feed's files. Each file begins with ``head`` and ends with ``foot``."""

    suffix: str
    head: Callable[[Shop], bytes]
    encode: Callable[[Shop, Review], bytes]
    foot: bytes = b""


@dataclass(slots=True)
class FeedCounts:
    """The number of published comments in a feed, and of those that a feed cannot have."""

    reviews: int = 0
    without_words: int = 0
    without_url: int = 0


@dataclass(slots=True)
class FeedWriter:
    """Writes the files ``<name>-1.<suffix>``, ``<name>-2.<suffix>`` … in ``directory``."""

    name: str
    form: FeedFormat
    shop: Shop
    products: ProductRepository
    directory: Path
    counts: FeedCounts = field(default_factory=FeedCounts)
    files: list[Path] = field(default_factory=list)
    _known: LRUCache[str, ProductDetails] = field(default_factory=lambda: LRUCache(_CACHED))
    _file: BinaryIO | None = None
    _size: int = 0

    async def add(self, comments: Collection[Comment]) -> None:
        """Write comments, except those without words, and those on products without a page."""
        spoken = [one for one in comments if valid(one.text).strip()]
        self.counts.without_words += len(comments) - len(spoken)
        details = await self._details({one.product_id for one in spoken})
        for one in spoken:
            of = details[one.product_id]
            if url := self.shop.link(of.url):
                self._write(self.form.encode(self.shop, Review(one, of, url)))
                self.counts.reviews += 1
            else:
                self.counts.without_url += 1

    def close(self) -> None:
        """End the last file."""
        if self._file is not None:
            self._file.write(self.form.foot)
            self._file.close()
            self._file = None

    async def _details(self, product_ids: Iterable[str]) -> dict[str, ProductDetails]:
        known = {one: held for one in product_ids if (held := self._known.get(one)) is not None}
        if missing := set(product_ids) - known.keys():
            found = await self.products.details(missing)
            read = {one: found.get(one, ProductDetails()) for one in missing}
            self._known.update(read)
            known |= read
        return known

    def _write(self, row: bytes) -> None:
        if self._file is None or self._size + len(row) + len(self.form.foot) > SPLIT_BYTES:
            self.close()
            path = self.directory / f"{self.name}-{len(self.files) + 1}.{self.form.suffix}"
            self.files.append(path)
            self._file = path.open("wb")
            self._size = self._file.write(self.form.head(self.shop))
        self._size += self._file.write(row)
