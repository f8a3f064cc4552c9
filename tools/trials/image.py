"""Carries out the Dockerfile's steps in directories, and starts the server as a container would.

Each stage has a directory that shows this machine's files, in place of the stage's base image. Then
the image's command runs as the image's user, without capabilities, with a read-only file system,
and with uploads of photos to ministack. Docker, the base images and their versions are not tried.
The trial needs root, npm, and access to the registries of Debian, npm and PyPI.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import httpx
import psutil

from tests.engines import ROOT, ministack
from tests.server.serving import SECRET, bearer
from tools.trials.reporting import finish, show

URL = "http://127.0.0.1:8000"
PHOTOS = "https://photos.shop.example"
AWS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET; Python 3.11 lacks os.unshare

_CREATE = """mutation { createPhotoUploads(input: {contentTypes: ["image/png"]}) {
  uploads { url fields { name value } photoUrl } userErrors { message } } }"""
_ADD = """mutation ($url: String!) { addComment(input: {productId: "1", rating: 5, language: "en",
  text: "Good.", photos: [{url: $url}]}) {
  comment { photos { url } } userErrors { message } } }"""


@dataclass
class Stage:
    """A stage of the Dockerfile. ``root`` is the directory that looks like its file system."""

    root: Path
    environment: dict[str, str]
    directory: str = "/"
    user: str = "0"
    commands: dict[str, list[str]] = field(default_factory=dict)
    """``ENTRYPOINT``, ``CMD`` and ``HEALTHCHECK``."""

    def command(self, program: list[str]) -> list[str]:
        """Return the command that runs a program in this stage, as its user."""
        rights = ["--bounding-set=-all", "--no-new-privs"] if self.user != "0" else []
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        inside = ["env", f"--chdir={self.directory}", *user, *rights, *program]
        return ["chroot", str(self.root), *inside]

    def run(self, program: list[str], **settings: str) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end."""
        return subprocess.run(
            self.command(program),
            env=self.environment | settings,
            capture_output=True,
            text=True,
            check=False,
        )


def instructions() -> Iterator[tuple[str, str]]:
    """Yield the Dockerfile's instructions that have an effect here, with their arguments."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    for line in text.replace("\\\n", "").splitlines():
        name, _, rest = line.partition(" ")
        if name not in {"", "ARG", "EXPOSE", "VOLUME"}:
            yield name, rest


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True)


def open_root(directory: Path, python: Path) -> Path:
    """Mount a directory that looks like this machine's root. Its changes stay in ``directory``."""
    root, changes, work = (directory / one for one in ("root", "changes", "work"))
    for one in (root, changes, work):
        one.mkdir(parents=True)
    _mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={changes},workdir={work}", "overlay", root)
    _mount("--bind", "/dev", root / "dev")
    _mount("-t", "proc", "proc", root / "proc")
    # An image has no clone of the repository, and its user can read Python.
    _mount("-t", "tmpfs", "tmpfs", root / ROOT.relative_to("/"))
    for place in python.parents:
        (root / place.relative_to("/")).chmod(0o755)
    # Debian's program has no other name than python3.
    named = root / python.parent.relative_to("/") / "python"
    if not named.exists():
        named.symlink_to(python.name)
    return root


def copy(stage: Stage, stages: dict[str, Stage], arguments: list[str]) -> None:
    """Carry out a COPY, from the build context or from another stage."""
    origin = ROOT
    if arguments[0].startswith("--from="):
        origin = stages[arguments.pop(0).removeprefix("--from=")].root
    *sources, place = arguments
    target = stage.root / (Path(stage.directory) / place).relative_to("/")
    for one in sources:
        source = origin / one.removeprefix("/")
        if source.is_dir():
            # .dockerignore excludes these directories from the context.
            ignored = shutil.ignore_patterns("__pycache__", *["node_modules"] * (origin == ROOT))
            shutil.copytree(source, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)


def build(directory: Path, python: Path) -> tuple[Stage, list[tuple[str, float]]]:
    """Carry out the Dockerfile. Return its last stage, and the seconds of each RUN."""
    stages: dict[str, Stage] = {}
    steps = []
    for name, rest in instructions():
        if name == "FROM":
            path = f"{python.parent}:/usr/local/bin:/usr/sbin:/sbin:/usr/bin:/bin"
            environment = {"PATH": path, "ENGINE": ""}
            stage = Stage(open_root(directory / str(len(stages)), python), environment)
            stages[rest.partition(" AS ")[2]] = stage
        elif name == "COPY":
            copy(stage, stages, rest.split())
        elif name == "RUN":
            begun = time.perf_counter()
            done = stage.run(["sh", "-c", rest])
            if done.returncode:
                sys.exit(f"RUN {rest}\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
            steps.append((rest, time.perf_counter() - begun))
        else:
            configure(stage, name, rest)
    return stage, steps


def configure(stage: Stage, name: str, rest: str) -> None:
    """Carry out an instruction that changes no files, except WORKDIR, which makes a directory."""
    if name == "WORKDIR":
        stage.directory = rest
        (stage.root / rest[1:]).mkdir(parents=True, exist_ok=True)
    elif name == "ENV":
        pairs = Template(rest).substitute(stage.environment).split()
        stage.environment |= dict(one.split("=", 1) for one in pairs)
    elif name == "USER":
        stage.user = rest
    elif name in {"ENTRYPOINT", "CMD", "HEALTHCHECK"}:
        stage.commands[name] = json.loads(rest[rest.index("[") :])
    else:
        sys.exit(f"The trial does not know the Dockerfile's instruction {name}.")


@contextmanager
def started(stage: Stage, **settings: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the image's command as the first process of a container, until the block ends.

    Only ``/data`` and ``/tmp`` can be written to.
    """
    for place, options in (("tmp", "mode=1777"), ("data", f"mode=0700,uid={stage.user}")):
        _mount("-t", "tmpfs", "-o", options, "tmpfs", stage.root / place)
    _mount("-o", "remount,ro", stage.root)
    command = stage.command(stage.commands["ENTRYPOINT"] + stage.commands["CMD"])
    container = ["unshare", "--pid", "--fork", f"--mount-proc={stage.root}/proc"]
    with subprocess.Popen(
        [*container, *command],
        env=stage.environment | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            kill(process)


def kill(process: "subprocess.Popen[str]") -> None:
    """End a container. The kernel ends all of its processes with the first one.

    unshare's --kill-child cannot end the first process, because setpriv changes its user.
    """
    if process.poll() is None:
        for one in psutil.Process(process.pid).children():
            one.kill()


def await_ready(process: "subprocess.Popen[str]") -> float:
    """Return the seconds until the server is ready."""
    begun = time.perf_counter()
    while time.perf_counter() < begun + 60 and process.poll() is None:
        try:
            if httpx.get(f"{URL}/health/ready").is_success:
                return time.perf_counter() - begun
        except httpx.TransportError:
            time.sleep(0.05)
    kill(process)
    assert process.stdout is not None
    sys.exit(f"The server is not ready:\n{process.stdout.read()}")


def upload(bucket: str) -> str:
    """Upload a photo with a form, add a comment with it, and return the photo's final address."""
    with httpx.Client(base_url=URL, headers=bearer("ann")) as client:

        def run(document: str, **variables: str) -> Any:
            body = {"query": document, "variables": variables}
            return client.post("/graphql", json=body).json()["data"]

        (form,) = run(_CREATE)["createPhotoUploads"]["uploads"]
        fields = {one["name"]: one["value"] for one in form["fields"]}
        sent = httpx.post(form["url"], data=fields, files={"file": ("a.png", b"photo")})
        sent.raise_for_status()
        address: str = run(_ADD, url=form["photoUrl"])["addComment"]["comment"]["photos"][0]["url"]
    assert httpx.get(address.replace(PHOTOS, f"{bucket}/photos")).content == b"photo"
    return address


def trial(directory: Path, python: Path) -> tuple[list[tuple[str, str]], dict[str, bool]]:
    """Build and run the image. Return the figures, and which promises hold."""
    stage, steps = build(directory, python)
    rows = [(f"RUN {step[:50]}", f"{seconds:.1f} s") for step, seconds in steps]
    size = sum(one.lstat().st_size for one in (stage.root / "opt/marginalia").rglob("*"))
    # A container has its own network, so the server's address is free, and private.
    if ctypes.CDLL(None).unshare(_NEW_NETWORK):
        sys.exit("The kernel refuses a new network.")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with ministack("s3") as bucket:
        httpx.put(f"{bucket}/photos").raise_for_status()
        settings = AWS | {
            "AWS_ENDPOINT_URL_S3": bucket,
            "MARGINALIA_JWT_SECRET": SECRET,
            "MARGINALIA_UPLOAD_BUCKET": "photos",
            "MARGINALIA_UPLOAD_URL": PHOTOS,
        }
        with started(stage, **settings) as process:
            ready = await_ready(process)
            (first,) = psutil.Process(process.pid).children()
            users = {one.uids().real for one in [first, *first.children(recursive=True)]}
            address = upload(bucket)
            memory = sum(one.memory_full_info().uss for one in first.children(recursive=True))
            healthy = stage.run(stage.commands["HEALTHCHECK"]).returncode
            places = ("/data", "/tmp", "/opt/marginalia", "/")
            writable = [
                one for one in places if stage.run(["touch", f"{one}/probe"]).returncode == 0
            ]
            begun = time.perf_counter()
            first.send_signal(signal.SIGTERM)
            code = process.wait(60)
            ended = time.perf_counter() - begun
    rows += [
        ("size of /opt/marginalia", f"{size / 1e6:.0f} MB"),
        ("ready after", f"{ready:.1f} s"),
        ("users of the processes", ", ".join(map(str, users))),
        ("memory", f"{memory / 1e6:.0f} MB"),
        ("writable", ", ".join(writable)),
        ("health check", f"exit code {healthy}"),
        ("SIGTERM", f"exit code {code} after {ended:.1f} s"),
    ]
    return rows, {
        "all processes have the image's user": users == {int(stage.user)},
        "an uploaded photo becomes a comment's photo": address.startswith(f"{PHOTOS}/photos/"),
        "only /data and /tmp are writable": writable == ["/data", "/tmp"],
        "the health check succeeds": healthy == 0,
        "the server ends with exit code 0": code == 0,
    }


def main() -> None:
    """Run the trial and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.base_prefix) / "bin/python3",
        help="the program of a Python with pip, in place of the base image's",
    )
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("This trial needs root, because it mounts directories.")
    if arguments.directory is None:
        # The mounts end with the process that has made them, so the directory is then empty.
        directory = tempfile.mkdtemp()
        again = [
            sys.executable,
            "-m",
            "tools.trials.image",
            *sys.argv[1:],
            "--directory",
            directory,
        ]
        done = subprocess.run(["unshare", "--mount", *again], check=False)
        Path(directory).rmdir()
        sys.exit(done.returncode)
    _mount("-t", "tmpfs", "tmpfs", arguments.directory)
    rows, held = trial(arguments.directory, arguments.python)
    show("The image's steps, and its server", ("", ""), rows)
    finish(f"Broken: {what}." for what, holds in held.items() if not holds)


if __name__ == "__main__":
    main()
