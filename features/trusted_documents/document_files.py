"""Reads the documents of a front end: manifests, and files with operations and fragments.

A manifest has documents that the operator registers. The compiler of the front end writes it in one
of two formats. Relay's persisted queries are a JSON object: each key is a document's id, and its
value is the document's text. Apollo's manifest is ``{"format": "apollo-persisted-query-manifest",
"version": 1, "operations": […]}``. Each operation has ``id``, ``name``, ``type`` and ``body``. This
module uses only ``id`` and ``body``, which is the text.

A GraphQL file has a document for each of its operations: a client sends the operation together with
the fragments that it spreads.
"""

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import orjson
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    concat_ast,
    parse,
    print_ast,
    separate_operations,
)

from features.trusted_documents.documents import message_of
from schema.execution.selections import fragments_of, operations_of
from server.errors import CommandError

_APOLLO = "apollo-persisted-query-manifest"
_VERSION = 1
_SUFFIXES = {".graphql", ".gql"}


def read_manifests(files: Iterable[Path]) -> dict[str, str]:
    """Return the texts of all documents by id. Raise CommandError if a file is invalid."""
    texts: dict[str, str] = {}
    for file in files:
        for document_id, text in _in_manifest(file):
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


def _in_manifest(file: Path) -> Iterator[tuple[object, object]]:
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


def read_documents(files: Sequence[Path]) -> list[tuple[str, str]]:
    """Return the id and the text of each document. Raise CommandError if a file is invalid.

    The id of an operation in a GraphQL file is the path of the file. Its fragments may be in
    another of the GraphQL files.
    """
    plain = [file for file in files if file.suffix in _SUFFIXES]
    manifests = read_manifests(file for file in files if file.suffix not in _SUFFIXES)
    return [*manifests.items(), *_in_graphql({file: _parsed(file) for file in plain})]


def _in_graphql(parsed: dict[Path, DocumentNode]) -> Iterator[tuple[str, str]]:
    for file, document in parsed.items():
        names = [one.name.value if one.name else "" for one in operations_of(document)]
        if len(names) > len(set(names)):  # separate_operations would return only one of them
            raise CommandError(
                f"{file} has operations with the same name, or several without a name: give each "
                "operation its own name."
            )
        own = fragments_of(document)
        # Two fragments with the same name both remain, so that validation reports them.
        others = [
            one
            for other in parsed.values()
            for one in other.definitions
            if isinstance(one, FragmentDefinitionNode) and one.name.value not in own
        ]
        whole = concat_ast([document, DocumentNode(definitions=tuple(others))])
        for separate in separate_operations(whole).values():
            yield str(file), print_ast(separate)


def _parsed(file: Path) -> DocumentNode:
    try:
        return parse(file.read_text("utf-8"), no_location=True)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except (GraphQLError, UnicodeDecodeError, RecursionError) as error:
        fault = message_of(error) if isinstance(error, GraphQLError) else str(error)
        raise CommandError(f"{file} has no valid GraphQL: {fault}") from error
