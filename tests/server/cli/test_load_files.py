"""``marginalia load`` of files that are not as they should be, or not what they are said to be."""

import gzip
import json
from pathlib import Path

import pytest

from dal.client.table import Table
from dal.repositories.comments import CommentRepository
from server.importer.column_mapping import hashed_id
from tests.engines import ROOT
from tests.server.cli.test_load import load, refusal
from tests.server.importer.reading import HEADER, jsonl, row
from tests.server.importer.samples import SAMPLES

PAGE = ROOT / "docs" / "loading.md"


@pytest.fixture
def store(table: Table, dynoxide_url: str) -> list[str]:
    """The options that lead to the fresh table of this test."""
    return ["--endpoint-url", dynoxide_url, "--table", table.name]


async def test_rows_that_differ_and_have_one_id_are_told(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    path = tmp_path / "c.jsonl"
    rows = [row(f"r{number}", reviewer="ana", text=f"no. {number}") for number in range(5)]
    path.write_text(jsonl(rows))
    code, said, errors = load(path, store, "--map", "id=reviewer")
    assert (code, errors) == (1, "")
    assert said == (
        f"{path}: 1 new, 4 changed, 0 unchanged, 0 rejected; columns not used: id.\n"
        "1 id stands in 5 rows that differ (lines 1, 2, 3, 4, 5): only the last row of an id "
        "stays. Perhaps another column is the id, or --id-from needs more of them.\n"
    )
    comment = await comments.get("ana")
    assert comment is not None
    assert comment.text == "no. 4"
    code, said, _ = load(path, store, "--id-from", "reviewer, text")
    assert (code, said) == (
        0,
        f"{path}: 5 new, 0 changed, 0 unchanged, 0 rejected; columns not used: id.\n",
    )


def test_rows_that_repeat_are_no_loss(tmp_path: Path, store: list[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([row("1"), row("1"), row("2")]))
    said = f"{path}: 2 new, 0 changed, 1 unchanged, 0 rejected.\n"
    assert load(path, store) == (0, said, "")


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


def put(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("sample", "preset", "sentence"),
    [
        (
            "amazon-2014",
            "amazon-2023",
            (
                "does not fit --preset amazon-2023: it has no 'parent_asin', 'user_id', 'rating', "
                "'timestamp', only reviewerID, asin, reviewerName, helpful, "
                "reviewText, overall, summary, unixReviewTime, reviewTime; add `--preset "
                "amazon-2014` instead."
            ),
        ),
        (
            "judgeme",
            "yelp",
            "is CSV, and --preset yelp reads JSON: add `--preset judgeme` instead.",
        ),
        (
            "bazaarvoice",
            "yotpo",
            "is XML, and --preset yotpo reads CSV: add `--preset bazaarvoice` instead.",
        ),
        ("yelp", "yotpo", "is JSON, and --preset yotpo reads CSV: add `--preset yelp` instead."),
        (
            "yotpo",
            None,
            (
                "has no column 'id' for id, but those of an export that is known: add `--preset "
                "yotpo`."
            ),
        ),
        (
            "amazon-2018",
            None,
            (
                "has no column 'id' for id, but those of an export that is known: add `--preset "
                "amazon-2018`."
            ),
        ),
        (
            "bazaarvoice",
            None,
            (
                "is XML, whose rows a preset must name: add `--preset bazaarvoice`, or one of your "
                "own with `row`."
            ),
        ),
    ],
)
def test_a_preset_that_does_not_fit_names_one_that_does(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sample: str,
    preset: str | None,
    sentence: str,
) -> None:
    name, content = SAMPLES[sample]
    path = put(tmp_path, name, content())
    options = [] if preset is None else ["--preset", preset]
    assert (
        refusal(monkeypatch, path, *options, "--data-dir", tmp_path / "d") == f"{path} {sentence}"
    )
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("name", "content", "options", "sentence"),
    [
        (
            "c.csv",
            b"a,b\n1,2\n",
            ["--preset", "judgeme"],
            (
                "PATH does not fit --preset judgeme: it has no 'product_id', 'rating', "
                "'review_date', 'product_handle', 'reviewer_name', only a, b; name its columns "
                "with --map."
            ),
        ),
        (
            "c.xml",
            b"<Feed><Product/></Feed>",
            ["--preset", "bazaarvoice"],
            "PATH has no Feed/Product/Reviews/Review elements, only Feed, Feed/Product.",
        ),
        (
            "c.jsonl",
            b'{"a": 1}\n',
            ["--id-from", "a,c"],
            "PATH has no 'c' for --id-from, only a.",
        ),
        ("c.csv", HEADER.encode(), ["--id-from", "a,,b"], "--id-from 'a,,b' has an empty name:"),
        (
            "c.csv",
            HEADER.encode(),
            ["--id-from", "text", "--map", "id=text"],
            "id is given by --map and by --id-from: leave one of them out.",
        ),
        ("c.csv", b"id\n", ["--delimiter", "::"], "--delimiter '::' is no delimiter: name one"),
        ("c.csv", b"id\n", ["--encoding", "utf-0"], "--encoding utf-0 is not known: name one"),
        ("c.csv", b"id\n", ["--date-format", "%H"], "--date-format '%H' does not tell the day:"),
        (
            "c.csv.gz",
            gzip.compress(b"id\n" * 9, mtime=0)[:12],
            [],
            "PATH ends too soon: get a whole copy",
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
    options: list[str],
    sentence: str,
) -> None:
    path = put(tmp_path, name, content)
    said = refusal(monkeypatch, path, *options, "--data-dir", tmp_path / "data")
    assert said.startswith(sentence.replace("PATH", str(path)))
    assert not (tmp_path / "data").exists()


def test_a_file_that_ends_in_the_middle_says_what_was_loaded(
    tmp_path: Path, store: list[str]
) -> None:
    rows = "".join(f"{json.dumps(row(str(number), n=number**9))}\n" for number in range(3_000))
    path = put(tmp_path, "c.jsonl.gz", gzip.compress(rows.encode(), mtime=0)[:-5_000])
    code, said, errors = load(path, store)
    assert (code, said) == (2, "")
    first, _, rest = errors.partition("; ")
    assert first == (
        f"marginalia: {path} ends too soon: get a whole copy of the gzip file, and load it over "
        "what was loaded of this one"
    )
    count = int(rest.partition(" ")[0].replace(",", ""))
    assert 0 < count < 3_000
    assert rest.endswith(" rows written for certain; running the same command again is safe.\n")
