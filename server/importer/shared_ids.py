"""Ids that stand in several different rows of one file: of these rows only the last one stays."""

import struct
from collections.abc import Iterator
from itertools import groupby
from tempfile import SpooledTemporaryFile, gettempdir

from server.errors import CommandError

_ENTRY = struct.Struct("qqq")
_PARTS = 32
_MEMORY = 1_000_000
"""Bytes of a part that are kept in memory; beyond, they go to a temporary file."""


class SharedIds:
    """Remembers 24 bytes of each row; the parts are looked through one by one at the end.

    Ids are told apart by 64 bits of hash: of 100 million ids, one pair is taken for one id in a
    thousand files.
    """

    def __init__(self) -> None:
        self._parts = [SpooledTemporaryFile(_MEMORY) for _ in range(_PARTS)]  # noqa: SIM115 - see close

    def add(self, identity: str, thing: object, line: int) -> None:
        """Note what row stood at ``line``."""
        key = hash(identity)
        try:
            self._parts[key % _PARTS].write(_ENTRY.pack(key, line, hash(repr(thing))))
        except OSError as error:
            raise CommandError(
                f"{gettempdir()} has no room for the ids of the file ({error.strerror}): name "
                "another directory in TMPDIR."
            ) from error

    def find(self) -> Iterator[list[int]]:
        """Yield the lines of each id that stands in different rows; none of rows that repeat."""
        for part in self._parts:
            part.seek(0)
            entries = sorted(_ENTRY.iter_unpack(part.read()))
            for _, group in groupby(entries, key=lambda entry: entry[0]):
                rows = list(group)
                if len({content for _, _, content in rows}) > 1:
                    yield [line for _, line, _ in rows]

    def close(self) -> None:
        """Free what was remembered."""
        for part in self._parts:
            part.close()
