"""``marginalia table workbench``: prints a data model of the table with example items."""

import json
from datetime import UTC, datetime

import typer

from features.demo.workbench import sample_items, workbench_model
from server.cli.options import takes
from server.settings import Settings


@takes("table")
def workbench(settings: Settings) -> None:
    """Print a data model of the table for NoSQL Workbench, with example items.

    Import the model into NoSQL Workbench to see the table and its indexes. The command does not
    open the table.
    """
    model = workbench_model(settings.table, sample_items(), datetime.now(UTC))
    typer.echo(json.dumps(model, indent=2, ensure_ascii=False))
