"""Registers the documents of a server's manifests, and checks that a server has documents."""

from dal.dynamodb.table import Table
from features.trusted_documents.document_files import read_manifests
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.repository import DocumentRepository
from features.trusted_documents.settings import DocumentSettings
from schema.execution.executable_schema import ExecutableSchema
from server.errors import CommandError
from server.findings import Finding, danger, ok


def trusted_documents(settings: DocumentSettings, schema: ExecutableSchema) -> TrustedDocuments:
    """Return the documents of the manifests in the settings.

    Raises CommandError if documents are invalid. The message lists all of them.
    """
    trusted = TrustedDocuments(schema.documents)
    broken = trusted.add_all(read_manifests(settings.documents))
    if broken:
        raise CommandError(" ".join(broken))
    return trusted


async def require_documents(settings: DocumentSettings, table: Table) -> None:
    """Raise CommandError if ``--documents-only`` is set, but no document is registered."""
    if await _has_none(settings, table):
        raise CommandError(
            "--documents-only allows only registered documents, but no document is registered: "
            "name a manifest with --documents, or run `marginalia documents add` first."
        )


def manifests_finding(settings: DocumentSettings, schema: ExecutableSchema) -> Finding:
    """Check that the manifests can be read, and that their documents are valid in the schema."""
    try:
        trusted_documents(settings, schema)
    except CommandError as error:
        return danger("manifests", " ".join(str(error).split()))
    return ok("manifests", "their documents can be executed.")


async def documents_finding(settings: DocumentSettings, table: Table) -> Finding:
    """Check that a server with --documents-only has registered documents."""
    if not settings.documents_only:
        return ok(
            "documents",
            "the server executes all documents, also documents that are not registered.",
        )
    if await _has_none(settings, table):
        return danger(
            "documents",
            "no document is registered, but --documents-only allows only registered documents: add "
            "--documents, or run `marginalia documents add`.",
        )
    return ok("documents", "the server executes only registered documents.")


async def _has_none(settings: DocumentSettings, table: Table) -> bool:
    """Return whether a server needs registered documents, and has none."""
    needed = settings.documents_only and not settings.documents
    return needed and not await DocumentRepository(table).all()
