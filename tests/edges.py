"""The edge in the result of a write."""

from dal.model import Comment
from dal.query.pagination import Edge
from dal.writes.comments import Written


def edge_of(written: Written) -> Edge[Comment]:
    """Return the edge of a written comment, which must be published."""
    assert isinstance(written, Edge)
    return written
