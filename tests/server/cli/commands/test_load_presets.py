"""Each preset's sample by the command of ``docs/loading.md``, and what that page says of it."""

import gzip
import re
import shlex
from pathlib import Path

import pytest

from dal.model import Comment
from dal.repositories.comments import CommentRepository
from server.importer.column_mapping import hashed_id, preset_names
from tests.engines import ROOT
from tests.server.cli.commands.loading import load
from tests.server.importer.samples import SAMPLES

PAGE = ROOT / "docs" / "loading.md"


def written(preset: str, tmp_path: Path) -> Path:
    name, content = SAMPLES[preset]
    path = tmp_path / name
    path.write_bytes(content())
    return path


def told(name: str, options: str, said: str) -> str:
    """Return a line of the page's table, from what a load of the file said."""
    first, *others = said.splitlines()
    counts, _, unused = first.partition(": ")[2].removesuffix(".").partition("; ")
    counts = counts.partition(", see ")[0]
    lost = " ".join([f"{unused}."] * bool(unused) + others)
    left_out = re.findall(r"([0-9]+) rows? left out", lost)
    rows = sum(map(int, re.findall("[0-9]+", counts) + left_out))
    return f"| `{name}` | `{options}` | {rows} | {counts} | {lost} |"


def test_each_preset_has_a_sample() -> None:
    assert sorted(SAMPLES) == preset_names()


@pytest.mark.parametrize("preset", SAMPLES)
def test_a_sample_loads_by_the_command_of_the_page(
    tmp_path: Path, store: list[str], preset: str
) -> None:
    path = written(preset, tmp_path)
    options = f"--preset {preset}"
    _, said, _ = load(path, store, *shlex.split(options))
    assert told(path.name, options, said.replace(str(path), path.name)) in PAGE.read_text()
    again = load(path, store, *shlex.split(options))[1].splitlines()[0]
    assert " 0 new, " in again


@pytest.mark.parametrize("preset", SAMPLES)
def test_a_dry_run_says_the_same_and_starts_no_engine(tmp_path: Path, preset: str) -> None:
    path = written(preset, tmp_path)
    code, said, _ = load(
        path, ["--data-dir", str(tmp_path / "data")], "--preset", preset, "--dry-run"
    )
    *first, last = [line for line in said.splitlines() if line.startswith(("{", str(path)))]
    assert len(first) == 3
    assert " would load, " in last
    losses = said.splitlines()[4:]
    assert all(line in PAGE.read_text() for line in losses)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert code == (preset in {"amazon-2014", "amazon-2018", "amazon-2023", "judgeme"})


async def loaded(
    preset: str, tmp_path: Path, store: list[str], comments: CommentRepository, comment_id: str
) -> Comment:
    load(written(preset, tmp_path), store, "--preset", preset)
    comment = await comments.get(comment_id)
    assert comment is not None
    return comment


async def test_what_becomes_of_a_review_of_yotpo(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    comment = await loaded("yotpo", tmp_path, store, comments, "410000006")
    assert comment.username == "Anonymous"
    assert comment.product_id == "900"
    assert (await comments.get("410000003"), await comments.get("410000009")) == (None, None)
    states = {one.verified_purchase for one in (await comments.get_many(IDS)).values()}
    assert states == {True, False}


IDS = [str(410_000_000 + number) for number in range(16)]


async def test_what_becomes_of_a_review_of_bazaarvoice(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    comment = await loaded("bazaarvoice", tmp_path, store, comments, "60006")
    assert comment.product_id == "mug-1"
    assert comment.username == "Anonymous"
    assert comment.language in {"en-US", "fr-CA"}
    assert comment.text.endswith(" <3")
    rated = await comments.get("60004")
    assert rated is not None
    assert rated.text == ""
    assert (await comments.get("60003"), await comments.get("60009")) == (None, None)


async def test_the_preset_of_ones_own_that_the_page_shows(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    preset = tmp_path / "shop.toml"
    preset.write_text(PAGE.read_text().partition("```toml\n")[2].partition("```")[0])
    path = tmp_path / "bewertungen.txt.gz"
    lines = [
        "Kunde;Artikel;Sterne;Text;Datum;Status;Hilfreich;Herkunft;Filiale",
        "Jörg;42;5,0;Schön;01.02.2023;frei;3;Einladung;Köln",
        "Anna;42;4;Gut;02.02.2023;;0;;",
        "Spam;42;1;Kauft!;02.02.2023;gesperrt;;;",
    ]
    path.write_bytes(gzip.compress("\r\n".join(lines).encode("cp1252"), mtime=0))
    code, said, errors = load(path, store, "--preset", preset)
    rejects = tmp_path / "bewertungen.txt.gz.rejects.jsonl"
    assert (code, errors) == (
        1,
        f"{path}:2: rating is '5,0'; it must be a whole number from 1 to 5.\n",
    )
    assert said.splitlines() == [
        f"{path}: 1 new, 0 changed, 0 unchanged, 1 rejected, see {rejects}.",
        "1 row left out: Status is gesperrt.",
    ]
    rejects.write_text(rejects.read_text().replace("5,0", "5"))
    code, said, errors = load(rejects, store, "--preset", preset)
    assert (code, errors) == (0, "")
    assert said.splitlines() == [
        f"{rejects}: 1 new, 0 changed, 0 unchanged, 0 rejected; columns not used: Filiale.",
        "votes: 1 value has no place yet.",
    ]
    comment = await comments.get(hashed_id(["Jörg", "42"]))
    assert comment is not None
    assert comment.verified_purchase
    assert (comment.username, comment.text, comment.created_at.isoformat()) == (
        "Jörg",
        "Schön",
        "2023-02-01T00:00:00+00:00",
    )
