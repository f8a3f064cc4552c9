"""Strong entity tags: names for the exact bytes of an answer, one for each coding of them."""

import re
from hashlib import blake2b

Headers = list[tuple[bytes, bytes]]

_TAG = re.compile(r'"([0-9a-f]{32})(?:-[a-z]+)?"')
"""A tag of ours, as it was made or with the coding that the answer was sent in."""


def entity_tag(body: bytes) -> str:
    """Return the tag of an answer that is not compressed: 128 bits, which no two answers share."""
    return f'"{blake2b(body, digest_size=16).hexdigest()}"'


def encoded(headers: Headers) -> None:
    """Let a strong tag among ``headers`` name the coding too: compressed, the bytes are others."""
    found = dict(headers)
    coding, tag = found.get(b"content-encoding"), found.get(b"etag")
    if coding is not None and tag is not None and tag.startswith(b'"'):
        headers[headers.index((b"etag", tag))] = (b"etag", b'%b-%b"' % (tag[:-1], coding))


def matching(if_none_match: str | None, tag: str) -> str | None:
    """Return the tag of ``If-None-Match`` that names the answer of ``tag``, in whatever coding.

    Caches that compress by themselves send it back as a weak one, which does for a GET.
    """
    for found in _TAG.finditer(if_none_match or ""):
        if f'"{found[1]}"' == tag:
            return found[0]
    return None
