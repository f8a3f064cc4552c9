"""A load of an export into another table creates equal items."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.stores import Stores
from dal.table.errors import InvalidArgumentError
from features.loading.column_mapping import ColumnMapping, make_column_mapping
from features.loading.export_files import directory_of, export
from features.loading.export_rows import Format, Layout
from features.loading.kind import files_of, with_file
from features.loading.opening import open_file
from features.loading.rows import RejectsFile
from features.loading.run import Load
from features.moderation.entity import commented_id
from features.moderation.kind import CaseCorrection
from features.moderation.model import QueueKind, ReportReason
from features.privacy.erasure import Choices, Erasure
from server.progress import ProgressBar
from tests.conftest import Tables
from tests.features.loading.objects import Stock, everything, stocks
from tests.server.serving import AWS, called
from tests.strategies import comment
from tests.verifying import verify

FILES = files_of(KINDS)


async def load(table: Table, file: Path, kind: str) -> None:
    mapping: ColumnMapping[Any] = make_column_mapping(FILES[kind], [], [])
    with open_file(file, mapping) as opened:
        rejects = RejectsFile(file.with_suffix(".rejects"))
        work = Load(opened.source, opened.rows, mapping, rejects)
        with ProgressBar(file.name, None) as progress:
            await work.run(mapping.kind.put(Stores(table)), progress)
    rejects.close()
    assert work.rejected == 0, rejects.path.read_text()


@pytest.mark.parametrize("written_in", ["csv", "parquet"])
@given(stock=stocks())
@settings(max_examples=settings().max_examples // 20)
async def test_a_load_of_an_export_creates_an_equal_table(
    written_in: Format, stock: Stock, tables: Tables, dynoxide_url: str
) -> None:
    first, second = [await tables.fresh(dynoxide_url) for _ in range(2)]
    await stock.fill(first)
    # The verification opens cases, as it does below in the second table.
    assert await verify(first, lambda _: None) == []
    with tempfile.TemporaryDirectory() as directory:
        target = directory_of(Path(directory), KINDS, Layout(written_in, all_states=True))
        await export(first, target, "here", lambda _: None)
        for kind in FILES:
            await load(second, target.files[kind], kind)
        await second.drain()
    assert await verify(second, lambda _: None) == []
    assert await everything(first) == await everything(second)


@given(stock=stocks())
@settings(max_examples=settings().max_examples // 30)
async def test_the_commands_create_an_equal_table_and_equal_files(
    stock: Stock, tables: Tables, dynoxide_url: str
) -> None:
    first, second = [await tables.fresh(dynoxide_url) for _ in range(2)]
    await stock.fill(first)
    at = ("--endpoint-url", dynoxide_url, "--table")
    with tempfile.TemporaryDirectory() as directory:
        out, again = Path(directory) / "out", Path(directory) / "again"
        ended = called("export", "-o", out, "--all-states", *at, first.name, **AWS)
        assert (ended.returncode, ended.stderr) == (0, "")
        for kind in FILES:
            file = out / f"{kind}.jsonl"
            shown = called("load", file, "--kind", kind, "--dry-run", *at, second.name, **AWS)
            first_rows = file.read_bytes().decode().split("\n")[:3]
            assert shown.stdout.startswith("\n".join(first_rows)), "as an export writes them"
            ended = called("load", file, "--kind", kind, *at, second.name, **AWS)
            assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
        assert await everything(first) == await everything(second)
        called("export", "-o", again, "--all-states", *at, second.name, **AWS)
        for kind in FILES:
            # Segments of a Scan are read concurrently, so the order of rows may differ.
            rows = [(where / f"{kind}.jsonl").read_bytes().split(b"\n") for where in (out, again)]
            assert sorted(rows[0]) == sorted(rows[1])


async def moved(first: Table, second: Table, directory: Path) -> None:
    """Export comments with their reports and cases, and load them into the second table."""
    kinds: Sequence[str] = ("comments", "reports", "cases")
    items = [one for kind in kinds for one in with_file(KINDS, kind)]
    target = directory_of(directory, items, Layout("jsonl", all_states=True))
    await export(first, target, "here", lambda _: None)
    for kind in kinds:
        await load(second, target.files[kind], kind)


async def test_the_queue_of_reported_comments_is_exported_and_loaded(
    tables: Tables, dynoxide_url: str, tmp_path: Path
) -> None:
    first, second = [await tables.fresh(dynoxide_url) for _ in range(2)]
    stores, there = Stores(first), Stores(second)
    for number in range(6):
        await stores.comments.add(one := comment(f"c{number}", username="ann"))
        for person in ("bob", "cleo")[: 1 + number % 2]:
            await stores.reports.report(f"c{number}", person, ReportReason.SPAM, "Look", 9)
        if number == 2:
            await stores.moderation.approve("c2", one.created_at, "mo")
        if number == 3:
            await stores.moderation.reject("c3", one.created_at, "mo", "Advertising")
    await stores.reports.report("c4", "dan", ReportReason.OTHER, "", 2)
    waiting = await stores.reports.queue(Slice(20))
    assert [row.comment_id for row in waiting.nodes] == ["c0", "c1", "c5"]
    await moved(first, second, tmp_path)
    found = await there.reports.queue(Slice(20))
    assert [edge.node for edge in found.edges] == [edge.node for edge in waiting.edges]
    assert await there.moderation.queue_length(QueueKind.REPORTED) == 3
    for number in range(6):
        pair = [await one.reports.reports(f"c{number}") for one in (stores, there)]
        assert pair[0] == pair[1]
    cases = CaseCorrection(second)
    assert await verify(second, lambda _: None, cases) == []
    assert (cases.opened, cases.closed) == (0, 0)
    before, after = [
        {key: item for key, item in (await everything(table)).items() if commented_id(item)}
        for table in (first, second)
    ]
    assert before == after
    await there.reports.report("c2", "eve", ReportReason.SPAM, "", 2)
    assert await there.comments.get("c2") is not None, "the approval was loaded, too"


async def test_verify_lists_comments_whose_reports_were_loaded_without_cases(
    tables: Tables, dynoxide_url: str, tmp_path: Path
) -> None:
    table = await tables.fresh(dynoxide_url)
    stores = Stores(table)
    await stores.comments.add(comment("c1", username="ann"))
    file = tmp_path / "reports.jsonl"
    file.write_text(
        '{"comment_id": "c1", "product_id": "42", "username": "bob", "reason": "spam", '
        '"reported_at": "2026-01-02"}\n'
    )
    await load(table, file, "reports")
    assert (await stores.reports.queue(Slice(20))).nodes == []
    await verify(table, lambda _: None)
    (row,) = (await stores.reports.queue(Slice(20))).nodes
    assert (row.comment_id, row.waiting_since.isoformat()) == ("c1", "2026-01-02T00:00:00+00:00")


async def test_an_erase_finds_reports_that_a_concurrent_load_writes(
    tables: Tables, dynoxide_url: str, tmp_path: Path
) -> None:
    first, second = [await tables.fresh(dynoxide_url) for _ in range(2)]
    stores = Stores(first)
    await stores.comments.add(one := comment("c1", username="ann"))
    await stores.comments.add(comment("c2", username="ann"))
    await stores.moderation.approve("c1", one.created_at, "bob")
    await stores.reports.report("c1", "bob", ReportReason.SPAM, "", 9)
    await stores.moderation.reject("c2", one.created_at, "bob", "Spam")

    async def load_meanwhile() -> None:
        assert (await Stores(second).standings.permission("bob")).erasing
        await moved(first, second, tmp_path)

    await Erasure(second, "bob", Choices(), KINDS).run(
        load_meanwhile, lambda _: None, lambda _: None
    )
    assert await Stores(second).comments.get("c1") is not None
    assert "bob" not in str(await everything(second))


_CASE = {"comment_id": "c1"}
_APPROVED = _CASE | {
    "decision": "approve",
    "decided_by": "mo",
    "decided_at": "2026-01-02",
    "seen": "2026-01-01",
}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_APPROVED | {"reason": "Spam"}, "reason is given, but the decision is APPROVE: empty it"),
        (_APPROVED | {"decision": "REJECT"}, "reason is empty, but the decision is REJECT: fill"),
        (_APPROVED | {"seen": ""}, "seen is empty, but the decision is APPROVE: fill it"),
        (_CASE | {"decided_by": "mo"}, "decided_by is given, but the row has no decision"),
    ],
)
def test_the_fields_of_a_decision_require_each_other(row: dict[str, object], message: str) -> None:
    mapping: ColumnMapping[Any] = make_column_mapping(FILES["cases"], [], [])
    with pytest.raises(InvalidArgumentError, match=message):
        mapping.make(row)
