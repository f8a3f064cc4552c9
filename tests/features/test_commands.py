"""The commands of all features."""

from tests.server.cli.test_main import commands
from tests.server.cli.test_wrong_directory import ANSWERED, REFUSED


def test_each_command_that_is_tested_in_a_wrong_directory_exists() -> None:
    assert {*REFUSED, *ANSWERED} <= set(commands())
