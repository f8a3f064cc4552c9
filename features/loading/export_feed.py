"""Exports a review feed: scans the comments, and moves the feed's files to a directory.

A feed is complete each time, because Google deletes the reviews that a feed lacks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.scan import SCAN_SEGMENTS, Progress
from dal.dynamodb.table import Table
from dal.kinds.item_kind import ItemKind
from dal.repositories.products import ProductRepository
from features.loading.export_files import (
    MANIFEST,
    Output,
    draft_in,
    now,
    publish,
    write_manifest,
    writing,
)
from features.loading.feed_formats import FEEDS
from features.loading.feed_writer import FeedCounts, FeedWriter, Shop
from features.loading.kind import with_file
from features.loading.scan_rows import export_pages
from server.errors import CommandError
from server.local_engine.data_directory import sync
from server.sentences import counted

FEED_PROMISE = (
    "Each comment that was published from `begun` until `ended` is in these files exactly once, in "
    "a version that it had in that time. Exceptions are the comments that `counts` and "
    "`unreadable` count. Comments that were added or deleted in that time may be missing."
)

_COMMENTS = "comments"


@dataclass(frozen=True, slots=True)
class FeedManifest:
    """The contents of a feed's manifest, a JSON file."""

    store: str
    format: str
    begun: str
    ended: str
    files: Sequence[str]
    counts: FeedCounts
    unpublished: int
    unreadable: int
    promise: str = FEED_PROMISE


async def export_feed(
    table: Table,
    kinds: Sequence[ItemKind],
    name: str,
    shop: Shop,
    directory: Path,
    store: str,
    seen: Progress,
    *,
    force: bool = False,
) -> FeedManifest:
    """Export the feed ``name`` to numbered files in ``directory``, and return its manifest.

    The function calls ``seen`` with the number of items that it has scanned. With ``force``, the
    files of an earlier feed are replaced or deleted. Raises DalError if the table cannot be read.
    Raises CommandError if a file cannot be written, if files of an earlier feed exist and ``force``
    is false, or if the feed would have no review.
    """
    form, manifest_path = FEEDS[name], directory / f"{name}.{MANIFEST}"

    def earlier() -> Mapping[str, Path]:
        found = directory.glob(f"{name}-*.{form.suffix}")
        return {one.name: one for one in found if one.stem[len(name) + 1 :].isdecimal()}

    with writing(directory):
        if not force:
            Output(earlier(), manifest_path).check_absent()
        with draft_in(directory) as draft:
            writer = FeedWriter(name, form, shop, ProductRepository(table), draft)
            begun, items, unpublished, unreadable = now(), 0, 0, 0

            async def scan(segment: int) -> None:
                nonlocal items, unpublished, unreadable
                async for page in export_pages(table, segment, with_file(kinds, _COMMENTS)):
                    await writer.add(page.objects[_COMMENTS])
                    unpublished += page.left_out
                    unreadable += page.unreadable[_COMMENTS]
                    items += page.items
                    seen(items)

            try:
                await in_parallel([scan(segment) for segment in range(SCAN_SEGMENTS)])
            finally:
                writer.close()
            if not writer.files:
                raise CommandError(
                    f"The table has no comment for a feed ({left_out(writer.counts)}): nothing is "
                    "exported, because an empty feed deletes all reviews."
                )
            for file in writer.files:
                sync(file)
            names = [file.name for file in writer.files]
            manifest = FeedManifest(
                store, name, begun, now(), names, writer.counts, unpublished, unreadable
            )
            write_manifest(draft / manifest_path.name, asdict(manifest))
            output = Output({one: directory / one for one in names}, manifest_path)
            if not force:
                Output(earlier(), manifest_path).check_absent()
            publish(output, draft)
            for gone in earlier().keys() - output.files.keys():
                (directory / gone).unlink()
    return manifest


def left_out(counts: FeedCounts) -> str:
    """Return how many published comments a feed lacks, and why."""
    return (
        f"{counted(counts.without_words, 'comment')} without words, and "
        f"{counted(counts.without_url, 'comment')} on products without a URL"
    )
