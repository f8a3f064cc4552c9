"""Reads manifests: files with the trusted documents of a front end, written by its compiler.

A trusted document is a GraphQL document that the operator has registered. There are two formats.
Relay's persisted queries are a JSON object: each key is a document's id, and its value is the
document's text. Apollo's manifest is ``{"format": "apollo-persisted-query-manifest", "version": 1,
"operations": […]}``. Each operation has ``id``, ``name``, ``type`` and ``body``. This module uses
only ``id`` and ``body``, which is the text.
"""

import reprlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from server.errors import CommandError

_APOLLO = "apollo-persisted-query-manifest"
_VERSION = 1


def read_manifests(files: Iterable[Path]) -> dict[str, str]:
    """Return the texts of all documents by id. Raise CommandError if a file is invalid."""
    texts: dict[str, str] = {}
    for file in files:
        for document_id, text in _documents(file):
            if not (isinstance(document_id, str) and document_id and isinstance(text, str)):
                raise CommandError(
                    f"{file}: the document {reprlib.repr(document_id)} needs an id and a text, as "
                    "in Relay's persisted queries or Apollo's manifest."
                )
            if texts.setdefault(document_id, text) != text:
                raise CommandError(
                    f"{file}: the id {document_id!r} already names another document. Give each "
                    "document its own id."
                )
    return texts


def _documents(file: Path) -> Iterator[tuple[object, object]]:
    """Yield the id and the text of each document in a file."""
    try:
        manifest = orjson.loads(file.read_bytes())
    except OSError as error:
        raise CommandError(f"The manifest {file} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise CommandError(f"The manifest {file} is not valid JSON: {error}.") from error
    if not isinstance(manifest, dict):
        raise CommandError(f"The manifest {file} must be a JSON object with a text for each id.")
    if "operations" not in manifest and "format" not in manifest:
        yield from manifest.items()
        return
    if (manifest.get("format"), manifest.get("version")) != (_APOLLO, _VERSION):
        raise CommandError(f"{file} is not a manifest of format {_APOLLO!r}, version {_VERSION}.")
    operations = manifest.get("operations")
    if not isinstance(operations, list):
        raise CommandError(f"{file} has no list of 'operations'.")
    for one in operations:
        given = one if isinstance(one, dict) else {}
        yield given.get("id"), given.get("body")
