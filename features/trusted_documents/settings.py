"""The settings of documents that clients request by id."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from server.option import setting

_documents = partial(setting, panel="Documents")


@dataclass(frozen=True, kw_only=True)
class DocumentSettings:
    """The settings of documents that clients request by id."""

    documents: Sequence[Path] = _documents(
        (),
        "Manifest of documents that clients request by id: Relay's persisted queries or Apollo's "
        "manifest. Repeatable. To store documents in the table, use 'marginalia documents add'.",
    )
    documents_only: bool = _documents(
        False, "Execute only registered documents, and refuse all others."
    )
    apq: bool = _documents(
        False,
        "Automatic persisted queries: clients such as Apollo and urql send a document's text once, "
        "and later only its hash. Each process keeps up to 16 MB of texts in memory.",
    )

    def conflicts(self) -> dict[str, bool]:
        """Return, for each message about contradicting settings, whether the message applies."""
        return {
            "--apq and --documents-only cannot be used together: remove one of them.": (
                self.apq and self.documents_only
            )
        }
