"""Per entity one declaration: keys, indexes, filter fields, codec. Here are all of them.

``marginalia table create`` makes the table of these indexes.
"""

from typing import Any

from dal.entities.comment import COMMENT
from dal.entities.entity import Entity
from dal.entities.order import ORDER
from dal.entities.organization import ORGANIZATION_USER
from dal.entities.product import LEADERS, LEADERS_BY_LANGUAGE
from dal.entities.ticket import TICKET
from dal.table.index import Index

ENTITIES: tuple[Entity[Any], ...] = (COMMENT, ORDER, ORGANIZATION_USER, TICKET)

LEADERBOARDS = (LEADERS, LEADERS_BY_LANGUAGE)

INDEXES: tuple[Index, ...] = (
    *(index for entity in ENTITIES for index in entity.indexes),
    *LEADERBOARDS,
)
"""Every table has these indexes. Entities that share an index use the same key attributes."""
