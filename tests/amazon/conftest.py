"""The fake of Amazon DynamoDB in front of a test's table."""

import pytest

from dal.dynamodb.table import Table
from tests.amazon import Amazon


@pytest.fixture
def amazon(table: Table) -> Amazon:
    """The service in front of the table. Only the test advances its clock."""
    service = Amazon(table.service)
    table.service = service
    return service
