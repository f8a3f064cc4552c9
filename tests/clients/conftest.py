"""Fixtures of the tests with clients."""

from pathlib import Path

import pytest

from tests.clients import setup_page


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the blocks of the page as files."""
    directory = tmp_path_factory.mktemp("blocks")
    setup_page.write_blocks(directory)
    return directory
