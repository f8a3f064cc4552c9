"""npm installs the engine's package for its platform, and no other, from a registry of the test."""

import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from server.local_engine.program import PACKAGED
from tests.engines import ROOT
from tests.server.serving import environment

PACKAGES = {f"@dynoxide/{platform}" for platform in PACKAGED}


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads((ROOT / name).read_bytes())
    return content


def locked() -> dict[str, dict[str, Any]]:
    """Return the lock file's entries of the engine's packages, by the packages' names."""
    entries = read("package-lock.json")["packages"]
    begin = "node_modules/"
    return {
        name.removeprefix(begin): entry
        for name, entry in entries.items()
        if name.startswith(f"{begin}@dynoxide/")
    }


def test_the_lock_has_the_engine_for_each_platform_in_one_version() -> None:
    named, entries = read("package.json")["optionalDependencies"], locked()
    assert named.keys() == entries.keys() == PACKAGES
    assert len({*named.values(), *(one["version"] for one in entries.values())}) == 1
    assert all(one["optional"] and "resolved" not in one for one in entries.values())
    platforms = {f"@dynoxide/{one['os'][0]}-{one['cpu'][0]}" for one in entries.values()}
    assert platforms == PACKAGES


def packed(name: str) -> bytes:
    """Return the archive of a package, whose program is the package's name."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        about = orjson.dumps({"name": name, "version": locked()[name]["version"]})
        for file, content in (("package.json", about), ("dynoxide", name.encode())):
            entry = tarfile.TarInfo(f"package/{file}")
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(archive.getvalue(), mtime=0)


@contextmanager
def registry(published: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Serve packages until the block ends. Yield the address, and the paths of all requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path)[1:]
            asked.append(path)
            name, _, file = path.partition("/-/")
            if name not in published:
                self.send_error(404)
                return
            content = packed(name)
            if not file:
                digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
                dist = {
                    "tarball": f"http://{self.headers['Host']}/{name}/-/package.tgz",
                    "integrity": f"sha512-{digest}",
                }
                version = locked()[name] | {"name": name, "dist": dist}
                number = version["version"]
                versions = {"versions": {number: version}, "dist-tags": {"latest": number}}
                content = orjson.dumps({"name": name} | versions)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", asked
        finally:
            server.shutdown()


def project(directory: Path) -> None:
    """Write a package.json and a lock file with only the engine's packages."""
    optional = {"optionalDependencies": read("package.json")["optionalDependencies"]}
    entries = {f"node_modules/{name}": entry for name, entry in locked().items()}
    for entry in entries.values():
        entry.pop("integrity", None)  # the registry's packages have other content
    lock = {"name": "engine", "lockfileVersion": 3, "packages": {"": optional} | entries}
    (directory / "package.json").write_bytes(orjson.dumps({"name": "engine"} | optional))
    (directory / "package-lock.json").write_bytes(orjson.dumps(lock))


@pytest.mark.parametrize(
    ("system", "cpu", "published"),
    [
        ("darwin", "arm64", PACKAGES),
        ("darwin", "x64", PACKAGES),
        ("linux", "arm64", PACKAGES),
        ("linux", "x64", PACKAGES),
        ("darwin", "arm64", {"@dynoxide/linux-x64"}),  # the registry lacks the package
        ("freebsd", "x64", PACKAGES),
    ],
)
def test_npm_requests_and_installs_only_the_engine_of_its_platform(
    tmp_path: Path, system: str, cpu: str, published: set[str]
) -> None:
    project(tmp_path)
    wanted = {f"@dynoxide/{system}-{cpu}"} & PACKAGES
    with registry(published) as (address, asked):
        settings = {
            "npm_config_registry": address,
            "npm_config_cache": str(tmp_path / "cache"),
            "npm_config_os": system,
            "npm_config_cpu": cpu,
            "npm_config_fetch_retries": "0",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier"],
            cwd=tmp_path,
            env=environment(**settings),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert {re.sub("/-/.*", "", path) for path in asked} == wanted
    found = (tmp_path / "node_modules").glob("@dynoxide/*/dynoxide")
    assert {path.read_text() for path in found} == wanted & published
