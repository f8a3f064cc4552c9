"""The shell of the documentation does not run blocks that are marked ``not run``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.shell import Shell, shell


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as opened:
        opened.begin()
        yield opened


def test_a_checked_block_has_no_effects(reader: Shell) -> None:
    checked = reader.check(
        "touch one; echo > two; A=$(touch three); touch four | cat > five\n"
        '.venv/bin/marginalia token --user "$(touch six)ana"\n'
        "(touch seven) && kill $$; exit 9"
    )
    assert (checked.returncode, checked.stdout) == (0, "")
    shells_own = {".venv", "calls", "session"}
    assert {one.name for one in reader.directory.iterdir()} == shells_own


def test_the_options_of_a_checked_block_are_parsed_also_in_loops_and_substitutions(
    reader: Shell,
) -> None:
    verify = ".venv/bin/marginalia stats verify"
    checked = reader.check(
        f'for k in a b; do .venv/bin/marginalia load $k --data-dir "$({verify})"; done'
    )
    assert checked.returncode == 0, checked.stderr
    assert reader.parsed == [
        "marginalia stats verify",
        "marginalia load a --data-dir ",
        "marginalia stats verify",
        "marginalia load b --data-dir ",
    ]


@pytest.mark.parametrize(
    "block", [".venv/bin/marginalia serve --prot 1", "make nothing", "if true; then"]
)
def test_a_wrong_option_target_or_syntax_fails(reader: Shell, block: str) -> None:
    assert reader.check(block).returncode != 0
