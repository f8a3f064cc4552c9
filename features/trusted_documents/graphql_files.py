"""Reads the documents of a front end: manifests, and files with operations and fragments.

A client sends each operation of a file as a document of its own, with the fragments that the
operation spreads. So a file with many operations has many documents.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

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
from features.trusted_documents.manifests import read_manifests
from schema.execution.selections import fragments_of, operations_of
from server.errors import CommandError

_SUFFIXES = {".graphql", ".gql"}


def read_documents(files: Sequence[Path]) -> list[tuple[str, str]]:
    """Return the id and the text of each document. Raise CommandError if a file is invalid.

    The id of an operation in a GraphQL file is the path of the file. Its fragments may be in
    another of the GraphQL files.
    """
    plain = [file for file in files if file.suffix in _SUFFIXES]
    manifests = read_manifests(file for file in files if file.suffix not in _SUFFIXES)
    return [*manifests.items(), *_documents({file: _parsed(file) for file in plain})]


def _documents(parsed: dict[Path, DocumentNode]) -> Iterator[tuple[str, str]]:
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
