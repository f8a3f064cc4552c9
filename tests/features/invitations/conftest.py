"""The fixture of the tests of commands."""

from tests.server.cli.commands.conftest import store

__all__ = ["store"]
