"""The command line with every command imported, of which Typer makes a page."""

from server.cli.main import COMMANDS, build

app = build(list(COMMANDS))
