"""Imports every command of the command line, so that Typer can write the page of commands."""

from server.cli.main import COMMANDS, build

app = build(list(COMMANDS))
