"""A load of a damaged file ends with a message, never with a traceback."""

import gzip
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.loading.column_mapping import make_column_mapping, presets
from features.loading.kind import COMMENTS
from features.loading.losses import Losses
from features.loading.opening import open_file
from features.loading.rows import RejectsFile, Row
from features.loading.run import Load
from features.loading.writer import DryRun
from server.errors import CommandError
from server.progress import ProgressBar
from tests.features.loading.reading import jsonl, row
from tests.features.loading.samples import SAMPLES

WHOLE = {preset: content() for preset, (_, content) in SAMPLES.items()}

Damage = tuple[float, int, bytes]
DAMAGES = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from([0, 1, 20, 100_000]),
        st.sampled_from([b"", b'"', b"\r", b"\n", b"\0", b"\xff", b"<", b"&a;", b"{", b",;"]),
    ),
    min_size=1,
    max_size=4,
)


def damaged(content: bytes, damages: list[Damage]) -> bytes:
    """Return the content with some bytes replaced."""
    for place, size, piece in damages:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + size :]
    return content


@given(st.sampled_from(sorted(SAMPLES)), DAMAGES, st.booleans())
async def test_a_damaged_file_loads_in_part_or_ends_with_a_message(
    tmp_path_factory: pytest.TempPathFactory, preset: str, damages: list[Damage], inside: bool
) -> None:
    content = WHOLE[preset]
    if inside and content.startswith(b"\x1f\x8b"):
        content = gzip.compress(damaged(gzip.decompress(content), damages))
    else:
        content = damaged(content, damages)
    path = tmp_path_factory.mktemp("damaged") / SAMPLES[preset][0]
    path.write_bytes(content)
    with suppress(CommandError):
        await rehearse(path, preset)


async def rehearse(path: Path, preset: str) -> None:
    chosen = presets()[preset]
    mapping = make_column_mapping(COMMENTS, [], [], chosen)
    with (
        open_file(path, mapping) as opened,
        closing(Losses(mapping)) as losses,
        ProgressBar("x", None) as progress,
    ):
        rows, rejects = losses.kept(opened.rows), RejectsFile(Path("/dev/null"))
        work = Load(opened.source, rows, mapping, rejects, note=losses.loaded)
        await work.run(DryRun().put, progress)
        assert opened.empty or work.read == work.outcome.total + work.rejected


def test_only_objects_with_a_mapped_member_are_unnested(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    cells = row(author={"name": "Ana", "city": "Oslo"}, device={"name": "Phone"})
    path.write_text(jsonl([cells]))
    mapping = make_column_mapping(COMMENTS, ["author_name=author/name"], [])
    with open_file(path, mapping) as opened:
        (found,) = opened.rows
    assert isinstance(found, Row)
    flat = {"author/name": "Ana", "author/city": "Oslo", "device": {"name": "Phone"}}
    assert found.cells == row() | flat
