"""systemd accepts the units of ``deploy/systemd``, and they fit the server.

systemd itself is not started: its tool ``systemd-analyze`` checks the files.
"""

import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from server.serving import GRACE
from tests.docs.test_reference import variables
from tests.engines import ROOT

UNITS = ROOT / "deploy/systemd"
INSTALLED = "/opt/marginalia/"
"""The folder of the repository in the units."""

SERVICES = sorted(one.name for one in UNITS.glob("*.service"))


def analyze(folder: Path, verb: str, *names: str) -> subprocess.CompletedProcess[str]:
    """Run ``systemd-analyze`` on the units, which name the programs of this repository."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze here: Debian's systemd has it")
    for path in UNITS.iterdir():
        text = path.read_text("utf-8").replace(INSTALLED, f"{ROOT}/")
        (folder / path.name).write_text(text, "utf-8")
    files = [folder / name for name in names if not name.startswith("--")]
    options = [name for name in names if name.startswith("--")]
    return subprocess.run(
        [program, verb, "--no-pager", *options, *files],
        capture_output=True,
        text=True,
        check=False,
    )


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    names = [one.name for one in UNITS.iterdir() if one.suffix != ".env"]
    done = analyze(tmp_path, "verify", "--man=no", *names)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_few_rights(tmp_path: Path, name: str) -> None:
    """The exposure, from 0 to 100, is that of ``systemd-analyze security``, times ten."""
    done = analyze(tmp_path, "security", "--offline=true", "--threshold=20", name)
    assert done.returncode == 0, done.stdout
    assert "User=/DynamicUser=" in done.stdout


@pytest.mark.parametrize(
    "name", ["marginalia-backup.service", "marginalia.env", "marginalia.service"]
)
def test_the_variables_of_the_units_are_options_of_commands(name: str) -> None:
    given = set(re.findall(r"MARGINALIA_[A-Z_]+(?==)", (UNITS / name).read_text("utf-8")))
    assert given
    assert given <= variables()


def test_systemd_waits_longer_than_a_stopping_server() -> None:
    text = (UNITS / "marginalia.service").read_text("utf-8")
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert int(seconds) > 2 * GRACE
    assert "\nKillMode=mixed\n" in text


def test_the_documentation_installs_every_file() -> None:
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    for path in UNITS.iterdir():
        assert f"deploy/systemd/{path.name}" in page, path.name


def test_the_backup_service_names_files_by_time_and_keeps_two_weeks(tmp_path: Path) -> None:
    """Run the commands of the unit as systemd would, with a program that only creates the file."""
    program = tmp_path / ".venv/bin/marginalia"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\ntest "$1" = backup && touch "$2"\n', "utf-8")
    program.chmod(0o700)
    folder = tmp_path / "backups"
    folder.mkdir()
    for name, days in (("old.db", 15), ("last-week.db", 7)):
        (folder / name).touch()
        then = time.time() - days * 86_400
        os.utime(folder / name, (then, then))
    text = (UNITS / "marginalia-backup.service").read_text("utf-8")
    for line in re.findall(r"^ExecStart(?:Post)?=(.*)$", text, re.MULTILINE):
        command = line.replace(INSTALLED, f"{tmp_path}/").replace("%%", "%").replace("$$", "$")
        words = shlex.split(command.replace("/var/lib/marginalia-backups", str(folder)))
        subprocess.run(words, check=True)
    kept = sorted(one.name for one in folder.iterdir())
    assert kept[1:] == ["last-week.db"]
    assert re.fullmatch(r"\d{8}T\d{6}Z\.db", kept[0])
