"""Runs shell blocks as a reader does, in a directory like a clone with a running server.

Bash runs each block. The programs that it calls send their arguments to this process, so that no
interpreter has to start:

- `marginalia` runs, but if the command would not end, only its options are parsed.
- Commands of `tools/` are only parsed.
- Arguments of `make` and `pip` are checked against the Makefile and pyproject.toml.
- `openssl` and others do nothing.

In a block marked ``not run``, bash skips all commands except these programs, and only the options
of `marginalia` are parsed.
"""

import json
import os
import shutil
import socketserver
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import click
from typer import main

from server.cli.main import COMMANDS, build
from tests.engines import ROOT
from tests.server.serving import called, marginalia
from tools.bench import __main__ as bench
from tools.conformance import __main__ as conformance
from tools.trials.__main__ import trials

ENDLESS = ("serve", "follow")
IDLE = ("openssl",)
TOOLS = {"tools.bench": bench.app, "tools.conformance": conformance.app}
_OURS = ("marginalia", "make", "pip", "python")

_PROGRAM = f"""#!{sys.executable} -SE
import json, os, socket, sys
if not sys.stdin.isatty():
    sys.stdin.buffer.read()
with socket.socket(socket.AF_UNIX) as s:
    s.connect(os.environ["SNIPPETS"])
    kept = {{k: v for k, v in os.environ.items() if k.startswith(("MARGINALIA_", "AWS_"))}}
    call = dict(program=os.path.basename(sys.argv[0]), arguments=sys.argv[1:], variables=kept)
    s.sendall(json.dumps(call).encode() + b"\\n")
    said = json.loads(s.makefile().readline())
sys.stdout.write(said["stdout"]); sys.stderr.write(said["stderr"]); sys.exit(said["code"])
"""


# Keeps variables and functions for the next block of the page.
_BEFORE = """
set +e; source session 2>/dev/null; set -e
trap '{ declare -p; declare -f; } > session' EXIT
"""

# With extdebug, bash skips a command, with its redirections, if the DEBUG trap fails. With -T the
# trap also sees the commands in pipelines and substitutions. `false` would end a shell with -e, but
# `! :` does not.
_ONLY_OURS = """
shopt -s extdebug; set -T
trap 'case $BASH_COMMAND in .venv/bin/*|"make "*|"for "*) ;; *) ! : ;; esac' DEBUG
"""


class Shell:
    """Runs blocks in ``directory``.

    ``parsed`` lists the command lines of `marginalia` that were only parsed.
    """

    def __init__(self, directory: Path, **variables: str) -> None:
        self.directory = directory
        self._variables = variables
        self._only_parse = False
        self.parsed: list[str] = []
        self._there: set[Path] = set()

    def begin(self) -> None:
        """Remember the files in the directory, which ``tidy`` keeps."""
        self._there = set(self.directory.iterdir())

    def run(self, block: str, *, until_it_speaks: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a block to its end, or until its first line of output."""
        command = ["bash", "-eo", "pipefail", "-c", f"{_BEFORE}{block}"]
        with subprocess.Popen(
            command,
            cwd=self.directory,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            if until_it_speaks:
                line = process.stdout.readline()
                os.killpg(process.pid, 15)
                process.communicate()
                return subprocess.CompletedProcess(command, 0 if line else 1, line, "")
            said, complained = process.communicate(timeout=120)
        return subprocess.CompletedProcess(command, process.returncode, said, complained)

    def check(self, block: str) -> subprocess.CompletedProcess[str]:
        """Check a block's syntax, and the options of its commands. Do not run the block."""
        self._only_parse = True
        try:
            return self.run(f"{_ONLY_OURS}{block}")
        finally:
            self._only_parse = False

    def tidy(self) -> None:
        """Delete the files that blocks have created, and begin a new session of the shell."""
        for path in set(self.directory.iterdir()) - self._there:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def answer(self, call: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Return the result of a program that a block calls."""
        program, arguments = call["program"], call["arguments"]
        match program:
            case "marginalia":
                return self._marginalia(arguments, call["variables"])
            case "python":
                complaint = tool_complaint(arguments)
            case "make":
                complaint = make_complaint(arguments)
            case "pip":
                complaint = pip_complaint(arguments)
            case _:
                complaint = ""
        return subprocess.CompletedProcess(arguments, int(bool(complaint)), "", complaint)

    def _marginalia(
        self, arguments: list[str], variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        if not self._only_parse and not set(ENDLESS) & set(arguments[:2]):
            run = marginalia if "-" in arguments else called
            return run(*arguments, **variables)
        self.parsed.append(" ".join(["marginalia", *arguments]))
        complaint = usage_complaint(_command_line(), arguments)
        return subprocess.CompletedProcess(arguments, int(bool(complaint)), "", complaint)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MARGINALIA_", "AWS_"))
        }
        path = f"{self.directory / '.venv/bin'}{os.pathsep}{kept['PATH']}"
        return kept | self._variables | {"PATH": path, "SNIPPETS": str(self.directory / "calls")}


@contextmanager
def shell(directory: Path, **variables: str) -> Iterator[Shell]:
    """Run a shell's programs until the ``with`` block ends."""
    programs = directory / ".venv/bin"
    programs.mkdir(parents=True)
    for name in (*_OURS, *IDLE):
        (programs / name).write_text(_PROGRAM)
        (programs / name).chmod(0o755)
    made = Shell(directory, **variables)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer = made.answer(json.loads(self.rfile.readline()))
            said = {"code": answer.returncode, "stdout": answer.stdout, "stderr": answer.stderr}
            self.wfile.write(json.dumps(said).encode() + b"\n")

    with socketserver.UnixStreamServer(str(directory / "calls"), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def tool_complaint(arguments: list[str]) -> str:
    """Return the error in the arguments of `python -m tools.…`, or ""."""
    match arguments:
        case ["-m", module, *rest] if module in TOOLS:
            return usage_complaint(main.get_command(TOOLS[module]), rest)
    return f"There is no tool {arguments}."


def usage_complaint(command: Any, arguments: list[str]) -> str:
    """Return the error in a command's arguments, or "". Do not run the command."""
    context: click.Context | None = None
    try:
        while True:
            context = command.make_context(
                arguments[0] if context else "marginalia",
                arguments if context is None else arguments[1:],
                parent=context,
            )
            inner = getattr(command, "commands", None)
            if inner is None:
                return ""
            arguments = [*context._protected_args, *context.args]
            if not arguments or arguments[0] not in inner:
                return f"There is no command {arguments[:1]} of {context.command_path}."
            command = inner[arguments[0]]
    except Exception as error:  # noqa: BLE001 - typer brings a click of its own, and its errors
        return f"{arguments}: {getattr(error, 'message', error)}"


@cache
def _command_line() -> Any:
    return main.get_command(build(list(COMMANDS)))


def make_complaint(arguments: list[str]) -> str:
    """Return the error of a `make` target or trial that does not exist, or ""."""
    text = (ROOT / "Makefile").read_text("utf-8")
    targets = {
        line.partition(":")[0] for line in text.splitlines() if ": " in line or line.endswith(":")
    }
    wanted = {one for one in arguments if "=" not in one}
    if wanted - targets:
        return f"The Makefile lacks {wanted - targets}."
    named = {one.partition("=")[2] for one in arguments if one.startswith("NAME=")}
    return f"There is no trial {named - trials().keys()}." if named - trials().keys() else ""


def pip_complaint(arguments: list[str]) -> str:
    """Return the error of an extra or a file that does not exist, or ""."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for one in arguments:
        if one.startswith(".[") and not set(one[2:-1].split(",")) <= set(
            project["optional-dependencies"]
        ):
            return f"There is no extra {one}."
        if one.endswith(".txt") and not (ROOT / one).exists():
            return f"There is no {one}."
    return ""
