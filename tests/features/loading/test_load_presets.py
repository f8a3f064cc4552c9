"""Each preset's sample by the option of ``docs/loading.md``, and the report of its load."""

import gzip
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.model.owners import has_account
from dal.model.submissions import ReviewCause
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from features.loading.column_mapping import hashed_id, preset_names
from features.loading.kind import with_file
from features.loading.loaded import CommentState, state_of
from features.loading.scan_rows import export_pages
from tests.engines import ROOT
from tests.features.loading.loading import load
from tests.features.loading.samples import NAMES, SAMPLES
from tests.features.one_per_person.switching import switched

PAGE = ROOT / "docs" / "loading.md"
REPORTS = ROOT / "tests" / "fixtures" / "preset_reports.txt"


def written(preset: str, tmp_path: Path) -> Path:
    name, content = SAMPLES[preset]
    path = tmp_path / name
    path.write_bytes(content())
    return path


def table_line(name: str, options: str, output: str) -> str:
    """Return the line of ``REPORTS`` that describes this output of a load."""
    first, *others = output.splitlines()
    counts, _, unused = first.partition(": ")[2].removesuffix(".").partition("; ")
    counts = counts.partition(", see ")[0]
    lost = " ".join([f"{unused}."] * bool(unused) + others)
    left_out = re.findall(r"([0-9]+) rows? left out", lost)
    rows = sum(map(int, re.findall("[0-9]+", counts) + left_out))
    return f"| `{name}` | `{options}` | {rows} | {counts} | {lost} |"


def test_each_preset_has_a_sample() -> None:
    assert sorted(SAMPLES) == preset_names()


@pytest.mark.parametrize("preset", SAMPLES)
def test_a_sample_is_loaded_with_the_documented_option(
    tmp_path: Path, store: list[str], preset: str
) -> None:
    path = written(preset, tmp_path)
    options = f"--preset {preset}"
    _, output, _ = load(path, store, *shlex.split(options))
    assert f"- `{options}`: " in PAGE.read_text()
    assert (
        table_line(path.name, options, output.replace(str(path), path.name)) in REPORTS.read_text()
    )
    again = load(path, store, *shlex.split(options))[1].splitlines()[0]
    assert " 0 new, " in again


@pytest.mark.parametrize("preset", SAMPLES)
def test_a_dry_run_prints_the_same_report_and_starts_no_engine(tmp_path: Path, preset: str) -> None:
    path = written(preset, tmp_path)
    code, output, _ = load(
        path, ["--data-dir", str(tmp_path / "data")], "--preset", preset, "--dry-run"
    )
    *first, last = [line for line in output.splitlines() if line.startswith(("{", str(path)))]
    assert len(first) == 3
    assert " would be loaded, " in last
    losses = output.splitlines()[4:]
    assert all(line in REPORTS.read_text() for line in losses)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert code == (preset not in {"bazaarvoice", "shopify", "yelp", "yotpo"})


async def loaded(
    preset: str, tmp_path: Path, store: list[str], comments: CommentRepository, comment_id: str
) -> Comment:
    load(written(preset, tmp_path), store, "--preset", preset)
    comment = await comments.get(comment_id)
    assert comment is not None
    return comment


async def test_a_review_of_yotpo_is_loaded(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    comment = await loaded("yotpo", tmp_path, store, comments, "410000006")
    assert comment.author_name == "Anonymous"
    assert comment.product_id == "900"
    assert (await comments.get("410000003"), await comments.get("410000009")) == (None, None)
    states = {one.verified_purchase for one in (await comments.get_many(IDS)).values()}
    assert states == {True, False}


async def test_a_review_of_woocommerce_is_stored_without_its_html(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    comment = await loaded("woocommerce", tmp_path, store, comments, "20")
    assert comment.text.endswith(".\nSmall & light")
    assert "<" not in comment.text


IDS = [str(410_000_000 + number) for number in range(16)]


@pytest.mark.parametrize("preset", SAMPLES)
def test_only_ids_of_the_shop_belong_to_accounts(tmp_path: Path, preset: str) -> None:
    load_options = ["--data-dir", str(tmp_path / "data")]
    path = written(preset, tmp_path)
    _, output, _ = load(path, load_options, "--preset", preset, "--dry-run")
    shown = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert {has_account(one["username"]) for one in shown} == {preset == "bazaarvoice"}
    assert len({one["username"] for one in shown}) == 3
    names = {one["author_name"] for one in shown}
    assert None not in names
    if preset in {"amazon-2023", "yelp"}:  # these exports have no names
        assert {name[0] for name in names} <= {"A", "_"}
    else:
        assert names <= {*NAMES, "Anonymous"}


async def test_people_with_the_same_name_are_different_owners(
    tmp_path: Path, store: list[str], table: Table
) -> None:
    rows = [("John", "2"), ("John", "3"), ("", "4"), ("", "5"), ("Anonymous", "6")]
    cells = [f"5,Good.,2024-01-0{day} 10:00:00 UTC,ok,{name},7,mug" for name, day in rows]
    header = "rating,body,review_date,curated,reviewer_name,product_id,product_handle"
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join([header, *cells]))
    await switched(table)
    loads = [load(path, store, "--preset", "judgeme")[1].splitlines()[0] for _ in range(2)]
    path.write_text(path.read_text().replace(",mug", ",renamed-mug"))
    loads.append(load(path, store, "--preset", "judgeme")[1].splitlines()[0])
    tallies = [one.partition(": ")[2] for one in loads]
    assert tallies == [
        "5 new, 0 changed, 0 unchanged, 0 rejected.",
        *["0 new, 0 changed, 5 unchanged, 0 rejected."] * 2,
    ]
    page = await Stores(table).comments.page(Selection("7"), Slice(9))
    assert len({one.username for one in page.nodes}) == 5
    assert not any(has_account(one.username) for one in page.nodes)
    assert sorted(one.author_name for one in page.nodes) == [*["Anonymous"] * 3, "John", "John"]


@pytest.mark.parametrize(
    "preset", ["bazaarvoice", "judgeme", "loox", "shopify", "wix", "woocommerce", "yotpo"]
)
async def test_comments_have_the_states_of_the_report(
    tmp_path: Path, store: list[str], table: Table, preset: str
) -> None:
    _, output, _ = load(written(preset, tmp_path), store, "--preset", preset)
    (states,) = re.findall(r"^States: (.*)\.$", output, re.MULTILINE)
    found: Counter[CommentState] = Counter()
    async for page in export_pages(table, 0, with_file(KINDS, "comments"), all_states=True):
        found.update(map(state_of, page.objects["comments"]))
    assert states == ", ".join(f"{found[state]} {state}" for state in CommentState)
    waiting = (await Stores(table).moderation.queue(Slice(9))).nodes
    assert {one.submission.cause for one in waiting if one.submission} == {ReviewCause.FILE}


WIX = {
    "id": "1",
    "entityId": "mug-0",
    "content": {"body": "Good.", "rating": 5, "media": [{"image": "https://p.example/1.jpg"}]},
    "author": {"authorName": "Bo"},
    "reviewDate": "2024-01-01T00:00:00Z",
    "foundHelpful": 3,
    "reply": {"message": "Thank you!", "createdDate": "2024-01-02T00:00:00Z"},
}
BARE = {**WIX, "content": {"body": "Good.", "rating": 5}, "foundHelpful": None}
DATE = "<Date>2024-01-02T00:00:00Z</Date>"
REPLY = "<ClientResponses><ClientResponse>{}</ClientResponse></ClientResponses>"
FULL = REPLY.format(f"<Response>Thank you!</Response>{DATE}")


def feed(*reviews: str, ids: str = "123") -> str:
    """Return a feed of Bazaarvoice with a product for each review."""
    return "<Feed>{}</Feed>".format(
        "".join(
            f'<Product id="mug-{number}"><Reviews><Review id="{review_id}"><Rating>5</Rating>'
            '<UserProfileReference id="u1"/><SubmissionTime>2024-01-01</SubmissionTime>'
            f"{review}</Review></Reviews></Product>"
            for number, (review_id, review) in enumerate(zip(ids, reviews, strict=False))
        )
    )


@pytest.mark.parametrize(
    ("preset", "before", "after"),
    [
        ("wix", WIX, {name: one for name, one in BARE.items() if name != "reply"}),
        ("wix", WIX, {**BARE, "reply": None}),
        ("wix", WIX, {**BARE, "reply": {"message": " ", "createdDate": WIX["reviewDate"]}}),
        ("bazaarvoice", feed(FULL), feed("")),
        ("bazaarvoice", feed(FULL), feed("<ClientResponses/>")),
        ("bazaarvoice", feed(FULL), feed(REPLY.format(f"<Response/>{DATE}"))),
    ],
)
async def test_what_the_source_has_removed_is_removed(
    tmp_path: Path, store: list[str], table: Table, preset: str, before: object, after: object
) -> None:
    path = tmp_path / "reviews"
    for content in (before, after):
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        assert load(path, store, "--preset", preset)[::2] == (0, "")
    (one,) = (await Stores(table).comments.page(Selection("mug-0"), Slice(9))).nodes
    assert (one.reply, one.photos, one.votes_before) == (None, (), 0)


async def test_a_fixed_row_of_a_csv_without_the_column_of_replies_keeps_the_reply(
    tmp_path: Path, store: list[str], table: Table
) -> None:
    path = tmp_path / "reviews.csv"
    header = "product_id,reviewer_name,review_date,body,rating"
    for names, cells in (
        (f"{header},reply", "7,Bo,2024-01-01,,4,Hi!"),
        (header, "7,Bo,2024-01-01,,9"),
    ):
        path.write_text(f"{names}\n{cells}")
        load(path, store, "--preset", "judgeme")
    rejects = tmp_path / "reviews.csv.rejects.jsonl"
    rejects.write_text(rejects.read_text().replace('"9"', '"5"'))
    assert load(rejects, store, "--preset", "judgeme")[0] == 0
    (one,) = (await Stores(table).comments.page(Selection("7"), Slice(9))).nodes
    assert one.reply is not None
    assert (one.rating, one.reply.text) == (5, "Hi!")


async def test_a_review_of_two_products_becomes_two_comments(
    tmp_path: Path, store: list[str], table: Table
) -> None:
    path = tmp_path / "feed.xml"
    path.write_text(feed(FULL, "", ids="11"))
    for tally in ("2 new, 0 changed, 0 unchanged", "0 new, 0 changed, 2 unchanged"):
        code, output, _ = load(path, store, "--preset", "bazaarvoice")
        assert (code, output.splitlines()[0]) == (0, f"{path}: {tally}, 0 rejected.")
    for product_id, replied in (("mug-0", True), ("mug-1", False)):
        (one,) = (await Stores(table).comments.page(Selection(product_id), Slice(9))).nodes
        assert (one.reply is not None) is replied


def bazaarvoice(review_id: str) -> str:
    """Return the id of the comment that a review of the sample becomes."""
    return hashed_id([review_id, f"mug-{(int(review_id) - 60_000) // 5}"])


async def test_a_review_of_bazaarvoice_is_loaded(
    tmp_path: Path, store: list[str], comments: CommentRepository
) -> None:
    comment = await loaded("bazaarvoice", tmp_path, store, comments, bazaarvoice("60006"))
    assert comment.product_id == "mug-1"
    assert (comment.username, comment.author_name) == ("u6", "Anonymous")
    assert comment.language in {"en-US", "fr-CA"}
    assert comment.text.endswith(" <3")
    rated = await comments.get(bazaarvoice("60004"))
    assert rated is not None
    assert rated.text == ""
    assert (await comments.get(bazaarvoice("60003")), await comments.get(bazaarvoice("60009"))) == (
        None,
        None,
    )


async def test_the_documented_preset_works(
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
        "Weg;42;1;Weg!;02.02.2023;geloescht;;;",
    ]
    path.write_bytes(gzip.compress("\r\n".join(lines).encode("cp1252"), mtime=0))
    code, output, errors = load(path, store, "--preset", preset)
    rejects = tmp_path / "bewertungen.txt.gz.rejects.jsonl"
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(f"{path}:2: rating is '5,0';")
    assert output.splitlines() == [
        f"{path}: 2 new, 0 changed, 0 unchanged, 1 rejected, see {rejects}.",
        "States: 0 PUBLISHED, 0 PENDING, 1 REJECTED.",
        "1 row left out: Status is geloescht.",
    ]
    rejects.write_text(rejects.read_text().replace("5,0", "5"))
    code, output, errors = load(rejects, store, "--preset", preset)
    assert (code, errors) == (0, "")
    *lines, dropped = output.splitlines()
    assert lines == [
        f"{rejects}: 1 new, 0 changed, 0 unchanged, 0 rejected; columns not used: Filiale.",
        "States: 1 PUBLISHED, 0 PENDING, 0 REJECTED.",
    ]
    assert dropped.startswith("votes: 1 value dropped")
    comment = await comments.get(hashed_id(["Jörg", "42"]))
    assert comment is not None
    assert comment.verified_purchase
    assert (comment.author_name, comment.text, comment.created_at.isoformat()) == (
        "Jörg",
        "Schön",
        "2023-02-01T00:00:00+00:00",
    )
