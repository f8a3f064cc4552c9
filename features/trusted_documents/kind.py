"""What commands on the whole table know of trusted documents."""

from dal.kinds.item_kind import ItemKind
from features.trusted_documents.repository import is_document

KIND = ItemKind(holds=is_document, labels={"DOCUMENTS": "documents"})
