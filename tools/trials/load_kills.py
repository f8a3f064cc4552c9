"""Kills loads at random points, and runs them again.

First, one load of the file runs to its end, which shows how long it takes. Then each further load,
into a table of its own, is killed with SIGKILL at a random moment. In every second round the engine
ends with the load. In the others, the engine runs on and executes the requests that it has
received.
"""

import argparse
import asyncio
import json
import random
import subprocess
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from dal.dynamodb.scan import scan_all
from dal.entities.comment import comment_in, is_comment
from dal.maintenance.verify import ScannedCounts, differences
from dal.model import Comment
from dal.table.items import Item
from dal.table.key_parts import format_instant
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.server.serving import MARGINALIA, environment
from tools.bench.speed.loads import comments_of
from tools.trials.reporting import finish, show

PRODUCTS = 40

_SKEW = 0.8
"""The exponent of Zipf's law, which determines the number of comments of each product."""


def comments(rows: int, products: int) -> list[Comment]:
    """Return comments by date. Their products differ much in size. Each call returns the same."""
    shares = [1 / rank**_SKEW for rank in range(1, products + 1)]
    sizes = [round(rows * share / sum(shares)) for share in shares]
    sizes[0] += rows - sum(sizes)
    made = [one for number, size in enumerate(sizes) for one in comments_of(f"p{number}", size)]
    return sorted(made, key=lambda one: one.created_at)


def write_file(path: Path, made: Iterable[Comment]) -> None:
    """Write comments as JSONL, with column names that ``load`` knows."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(_row(one), ensure_ascii=False)}\n" for one in made)


def _row(one: Comment) -> dict[str, object]:
    cells = {name: value for name, value in one._asdict().items() if value is not None}
    cells["id"] = cells.pop("comment_id")
    return cells | {"created_at": format_instant(one.created_at)}


@dataclass
class Kill:
    """A killed load, the number of rows in its table afterwards, and the faults."""

    seconds: float
    with_engine: bool
    rows: int = 0
    result: str = ""
    """The result that the second load printed."""
    wrong: list[str] = field(default_factory=list)


@dataclass
class Found:
    """The comments and counters in a table."""

    stored: dict[str, Comment | None] = field(default_factory=dict)
    counts: ScannedCounts = field(default_factory=ScannedCounts)

    def add(self, items: Sequence[Item]) -> None:
        """Add the items of a page of a scan."""
        self.counts.add(items)
        made = [comment_in(item) for item in items if is_comment(item)]
        self.stored |= {one.comment_id: one for one in made if one is not None}


async def trial(directory: Path, kills: int, rows: int, seed: int) -> list[Kill]:
    """Kill ``kills`` loads of a file with ``rows`` rows, and run each again."""
    chance = random.Random(seed)
    made, file = comments(rows, PRODUCTS), directory / "rows.jsonl"
    write_file(file, made)
    start = monotonic()
    await _ended(_load(file, directory / "whole"))
    whole = monotonic() - start
    done = []
    for number in range(kills):
        kill = Kill(whole * chance.uniform(0.2, 1), with_engine=number % 2 == 0)
        await _tried(kill, file, directory / str(number), {one.comment_id: one for one in made})
        done.append(kill)
    return done


async def _tried(kill: Kill, file: Path, data_dir: Path, made: dict[str, Comment]) -> None:
    async with _engine(data_dir, lives=not kill.with_engine):
        process = _load(file, data_dir)
        await asyncio.sleep(kill.seconds)
        process.kill()
        await asyncio.to_thread(process.wait)
        found = await _found(data_dir)
        kill.rows = len(found.stored)
        kill.wrong += _wrong(found)
        if not found.stored.items() <= made.items():
            kill.wrong.append("killed: the table has rows that the file does not have")
        kill.result = await _ended(_load(file, data_dir))
        found = await _found(data_dir)
        kill.wrong += _wrong(found)
        if found.stored != made:
            kill.wrong.append("second load: the table differs from the file")


@asynccontextmanager
async def _engine(data_dir: Path, *, lives: bool) -> AsyncIterator[None]:
    """Run an engine for both loads if ``lives``. Otherwise each load runs its own."""
    if not lives:
        yield
        return
    async with open_table(Settings(data_dir=data_dir), share=False):
        yield


def _load(file: Path, data_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [MARGINALIA, "load", file, "--data-dir", data_dir],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


async def _ended(process: subprocess.Popen[str]) -> str:
    said, _ = await asyncio.to_thread(process.communicate)
    assert process.returncode == 0, said
    return said.rpartition(": ")[2].strip()


async def _found(data_dir: Path) -> Found:
    found = Found()
    async with open_table(Settings(data_dir=data_dir), share=True) as table:
        await scan_all(table, lambda _: None, found.add)
    return found


def _wrong(found: Found) -> list[str]:
    return [f"{one.key}: {one.what} is {one.stored}" for one in differences(found.counts).values()]


def main() -> None:
    """Run the trial and print its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        done = asyncio.run(trial(Path(directory), given.kills, given.rows, given.seed))
    rows = [
        (f"{one.seconds:.2f}", "yes" if one.with_engine else "no", f"{one.rows:,}", one.result)
        for one in done
    ]
    columns = ("killed after s", "with its engine", "rows in the table", "second load")
    show(f"{len(done)} loads of {given.rows:,} rows, seed {given.seed}", columns, rows)
    finish(fault for one in done for fault in one.wrong)


if __name__ == "__main__":
    main()
