"""``python -m tools.bench``: measures pages and writes in capacity, money and time.

If a measurement fails, the command prints one sentence and exits with 1.
"""

import sys

import typer

from dal.table.errors import DalError
from server.errors import INTERRUPTED, CommandError
from tools.bench.bill import bill
from tools.bench.cost import cost
from tools.bench.coverage import compiled
from tools.bench.execution import execution
from tools.bench.orders import orders
from tools.bench.search import search
from tools.bench.speed.command import growth, speed

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (cost, orders, search, bill, speed, growth, compiled, execution):
    app.command()(command)


def main() -> None:
    """Run a benchmark."""
    try:
        app(prog_name="python -m tools.bench")
    except (CommandError, DalError) as error:
        sys.exit(f"bench: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
