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
    (tmp_path / "package.json").write_bytes((ROOT / "package.json").read_bytes())
    return tmp_path


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True)
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
    ("system", "machine", "command"),
    [
        ("linux", "x86_64", "make setup"),
        ("linux", "aarch64", "npm install --no-save --omit=dev @dynoxide/linux-arm64@"),
        ("darwin", "arm64", "npm install --no-save --omit=dev @dynoxide/darwin-arm64@"),
        ("darwin", "x86_64", "npm install --no-save --omit=dev @dynoxide/darwin-x64@"),
        ("freebsd14", "amd64", "cargo install dynoxide-rs`"),
    ],
)
def test_without_an_engine_one_command_is_suggested(
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    system: str,
    machine: str,
    command: str,
) -> None:
    on(monkeypatch, system, machine)
    with pytest.raises(CommandError, match=f"run `{command}") as told:
        engine_binary()
    program.main()
    assert capsys.readouterr().out == f"{told.value}\n"


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
