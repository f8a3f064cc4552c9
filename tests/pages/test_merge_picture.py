"""The picture of a merge in the documentation, which ``make docs`` writes."""

import re
import shutil
from pathlib import Path

from tests.engines import ROOT
from tests.pages import merge_picture
from tests.server.serving import served


def test_the_picture_of_a_merge_is_that_of_the_demo(demo_data: Path, tmp_path: Path) -> None:
    """If this test fails, the demo's data or the drawing has changed: run ``make docs``."""
    shutil.copytree(demo_data, tmp_path / "data")
    with served(tmp_path / "data", "--demo") as server:
        assert merge_picture.made(server.url) == merge_picture.FILE.read_text("utf-8")


def test_the_readme_describes_the_picture() -> None:
    figures = re.findall(r"(\d+) rows read, ([\d.]+) RCU", merge_picture.FILE.read_text("utf-8"))
    (described,) = re.findall(r'merge\.svg" alt="([^"]*)"', (ROOT / "README.md").read_text("utf-8"))
    assert figures
    for rows, capacity in figures:
        assert f"reads {rows} rows" in described
        assert f"for {capacity} RCU" in described
