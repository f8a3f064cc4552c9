"""The sentences that commands print."""

import re
from collections.abc import Iterable

from dal.dynamodb.table import Table
from tests.server.serving import AWS, called

UNCHECKED = re.compile("^- |^  |cannot reach:$|as they were from")


def sentences_of(commands: Iterable[str], table: Table, store: list[str]) -> dict[str, list[str]]:
    """Run commands, and return what each prints, without lists and periods of time.

    The table is called ``shop``.
    """
    said: dict[str, list[str]] = {}
    for command in commands:
        ended = called(*command.split(), *store, **AWS)
        lines = f"{ended.stdout}{ended.stderr}".replace(table.name, "shop").splitlines()
        said[command] = [line for line in lines if not UNCHECKED.search(line)]
    return said
