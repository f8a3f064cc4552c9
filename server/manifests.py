"""Manifests of trusted documents: the files that clients' compilers write.

The content tells two formats apart: Relay's persisted queries, ``{id: text}``, and Apollo's
manifest, ``{"format": "apollo-persisted-query-manifest", "version": 1, "operations": […]}`` with
the ``id``, ``name``, ``type`` and ``body`` of each operation.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from server.errors import CommandError

_APOLLO = "apollo-persisted-query-manifest"
_VERSION = 1


def read_manifests(files: Iterable[Path]) -> dict[str, str]:
    """Return the documents of all files by their ids; CommandError if a file is invalid."""
    texts: dict[str, str] = {}
    for file in files:
        for document_id, text in _documents(file):
            if texts.setdefault(document_id, text) != text:
                raise CommandError(
                    f"{file}: the id {document_id!r} already names another document. Give each "
                    "document an id of its own."
                )
    return texts


def _documents(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the documents of a file, each with its id."""
    manifest = _parsed(file)
    if "operations" in manifest or "format" in manifest:
        yield from _apollo(file, manifest)
        return
    for document_id, text in manifest.items():
        yield _document(file, document_id, text)


def _apollo(file: Path, manifest: dict[str, object]) -> Iterator[tuple[str, str]]:
    if (manifest.get("format"), manifest.get("version")) != (_APOLLO, _VERSION):
        raise CommandError(f"{file} is not a manifest of format {_APOLLO!r}, version {_VERSION}.")
    operations = manifest.get("operations")
    if not isinstance(operations, list):
        raise CommandError(f"{file} has no list of 'operations'.")
    for one in operations:
        given = one if isinstance(one, dict) else {}
        yield _document(file, given.get("id"), given.get("body"))


def _document(file: Path, document_id: object, text: object) -> tuple[str, str]:
    if isinstance(document_id, str) and document_id and isinstance(text, str):
        return document_id, text
    raise CommandError(
        f"{file}: the document {document_id!r} needs an id and a text, as in Relay's persisted "
        "queries or Apollo's manifest."
    )


def _parsed(file: Path) -> dict[str, object]:
    try:
        manifest = orjson.loads(file.read_bytes())
    except OSError as error:
        raise CommandError(f"The manifest {file} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise CommandError(f"The manifest {file} is not valid JSON: {error}.") from error
    if not isinstance(manifest, dict):
        raise CommandError(f"The manifest {file} must be a JSON object of documents by their ids.")
    return manifest
