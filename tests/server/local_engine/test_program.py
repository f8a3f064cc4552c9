"""Where the engine's program is found, and the message if there is none."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from server.errors import CommandError
from server.local_engine import program
from server.local_engine.program import engine_binary
from tests.engines import ROOT


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone without an engine, on a machine without one."""
    monkeypatch.delenv("MARGINALIA_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(program, "_ROOT", tmp_path)
    return tmp_path


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


def on(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)


def test_the_engine_is_found_by_the_variable_then_the_npm_package_then_the_path(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "darwin", "arm64")
    found = made(bare / "bin/dynoxide")
    assert engine_binary() == found
    packaged = made(bare / "node_modules/@dynoxide/darwin-arm64/dynoxide")
    assert engine_binary() == packaged
    named = made(bare / "elsewhere/engine")
    monkeypatch.chdir(bare)
    for name in (str(named), "elsewhere/engine"):
        monkeypatch.setenv("MARGINALIA_ENGINE", name)
        assert engine_binary() == named.resolve()


@pytest.mark.parametrize(
    ("system", "machine", "installed", "found"),
    [
        ("darwin", "arm64", ["darwin-x64"], "darwin-x64"),  # Node.js for x86-64
        ("darwin", "x86_64", ["darwin-arm64"], "darwin-arm64"),  # Python for x86-64
        ("darwin", "arm64", ["darwin-x64", "darwin-arm64"], "darwin-arm64"),
        ("darwin", "arm64", ["linux-arm64"], None),  # the directory was used in a container
        ("linux", "aarch64", ["linux-x64", "darwin-arm64"], None),
        ("linux", "x86_64", ["linux-arm64", "linux-x64"], "linux-x64"),
    ],
)
def test_a_package_for_another_system_or_cpu_is_used_only_if_it_runs(
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    machine: str,
    installed: list[str],
    found: str | None,
) -> None:
    on(monkeypatch, system, machine)
    for name in installed:
        made(bare / "node_modules/@dynoxide" / name / "dynoxide")
    if found is None:
        with pytest.raises(CommandError):
            engine_binary()
    else:
        assert engine_binary() == bare / "node_modules/@dynoxide" / found / "dynoxide"


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize(
    ("system", "machine", "named"),
    [
        ("linux", "x86_64", "linux-x64"),
        ("linux", "aarch64", "linux-arm64"),
        ("darwin", "arm64", "darwin-arm64"),
        ("darwin", "x86_64", "darwin-x64"),
        ("freebsd14", "amd64", "freebsd14-x64"),
    ],
)
def test_without_an_engine_setup_fails_with_one_sentence(
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    machine: str,
    named: str,
    setup: bool,
) -> None:
    on(monkeypatch, system, machine)
    if setup:
        made(bare / "node_modules/installed")
    with pytest.raises(CommandError) as told:
        engine_binary()
    sentence = str(told.value)
    packaged = system != "freebsd14"
    assert ("`make setup`" in sentence) == packaged
    assert (named in sentence) == (setup or not packaged)
    with pytest.raises(SystemExit) as end:
        program.main()
    assert end.value.code == sentence


def test_setup_needs_no_engine_if_none_may_run(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINALIA_ENGINE", "none")
    program.main()


def test_the_variable_can_exclude_every_engine(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(bare / "bin/dynoxide")
    monkeypatch.setenv("MARGINALIA_ENGINE", "none")
    with pytest.raises(CommandError, match=r"--endpoint-url or --aws"):
        engine_binary()


def test_setup_prints_nothing_if_the_engine_is_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "server.local_engine.program"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
