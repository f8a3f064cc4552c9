"""Lists all ``Entity`` objects (each declares a kind of item), and all indexes of the table.

``marginalia table create`` creates a table with these indexes.
"""

from typing import Any

from dal.entities.comment import COMMENT
from dal.entities.order import ORDER
from dal.entities.organization import ORGANIZATION_USER
from dal.entities.product import LEADERS, LEADERS_BY_LANGUAGE, PRODUCT_DETAILS
from dal.entities.standing import STANDING
from dal.entities.submission import SUBMISSION
from dal.entities.ticket import TICKET
from dal.table.entity import Entity
from dal.table.index import Index

ENTITIES: tuple[Entity[Any], ...] = (
    COMMENT,
    SUBMISSION,
    ORDER,
    ORGANIZATION_USER,
    PRODUCT_DETAILS,
    STANDING,
    TICKET,
)

LEADERBOARDS = (LEADERS, LEADERS_BY_LANGUAGE)

INDEXES: tuple[Index, ...] = (
    *(index for entity in ENTITIES for index in entity.indexes),
    *LEADERBOARDS,
)
"""The declarations of all indexes. Declarations with the same ``name`` describe different kinds of
rows in one DynamoDB index, and have the same key attributes."""
