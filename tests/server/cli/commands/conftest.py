import pytest

from dal.dynamodb.table import Table


@pytest.fixture
def store(table: Table, dynoxide_url: str) -> list[str]:
    """The options of the command line that select this test's table."""
    return ["--endpoint-url", dynoxide_url, "--table", table.name]
