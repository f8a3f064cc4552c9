"""Which encoding a file is in: what its first bytes tell, or else what was asked for, or UTF-8."""

import codecs

from server.errors import CommandError

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, which no text of another encoding starts with; the longer ones first."""

_NO_TEXT = {
    b"PK": "is an archive or a spreadsheet: unpack it, or save it as CSV, first",
    b"BZh": "is compressed by bzip2: unpack it first, with `bunzip2`",
    b"\xfd7zXZ": "is compressed by xz: unpack it first, with `unxz`",
    b"PAR1": "is Parquet: add --format parquet",
}
"""The first bytes of files that are often mistaken for text."""

_TAR = slice(257, 262)


def encoding_of(name: str, head: bytes, chosen: str | None) -> str | None:
    """Return the encoding of a file that starts with ``head``; None is UTF-8, or what XML declares.

    Raises CommandError for an unknown encoding, and for a file that is no text.
    """
    marked = next((found for mark, found in _MARKS.items() if head.startswith(mark)), None)
    if marked is None:
        _check_text(name, head, chosen)
    return marked or (None if chosen is None else _known(chosen))


def _known(chosen: str) -> str | None:
    try:
        encoding = codecs.lookup(chosen).name
        b"\n\n\n\n".decode(encoding, "ignore")  # refuses what makes no text, such as base64
    except LookupError:
        raise CommandError(
            f"--encoding {chosen} is not known: name one such as utf-8, latin-1, cp1252 or utf-16."
        ) from None
    return None if encoding in {"utf-8", "utf-8-sig"} else encoding


def _check_text(name: str, head: bytes, chosen: str | None) -> None:
    what = next((what for magic, what in _NO_TEXT.items() if head.startswith(magic)), None)
    if head[_TAR] == b"ustar":
        what = "is an archive: unpack it first, with `tar -xf`"
    if what is None and chosen is None and 0 in head[:4]:
        bits = 32 if head[:4].count(0) > 2 else 16  # noqa: PLR2004 - of four bytes, of a letter
        order = "be" if head.startswith(b"\0") else "le"
        what = f"is not UTF-8 but looks like UTF-{bits}: add `--encoding utf-{bits}-{order}`"
    if what is not None:
        raise CommandError(f"{name} {what}.")
