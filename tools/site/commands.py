"""Imports every command of the command line, so that Typer can make a page of them."""

from server.cli.main import COMMANDS, build

app = build(list(COMMANDS))
