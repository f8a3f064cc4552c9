"""Imports every command of the command line, so that Typer can write their page."""

from server.cli.main import COMMANDS, build

app = build(list(COMMANDS))
