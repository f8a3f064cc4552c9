"""Finds the program of the embedded engine. If it is missing, explains how to install it."""

import os
import platform
import shutil
import sys
from pathlib import Path

import orjson

from server.errors import CommandError

_ROOT = Path(__file__).parents[2]
NONE = "none"
"""If ``MARGINALIA_ENGINE`` has this value, no engine may run, as in a container image for AWS."""

_CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
_PACKAGED = {"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"}
"""The platforms for which npm has a package of the engine."""


def engine_binary() -> Path:
    """Return the path of the engine's program.

    If the environment variable ``MARGINALIA_ENGINE`` contains a path, return this path. Otherwise
    return the program that npm has installed in ``node_modules``. If it is missing, return
    ``dynoxide`` in the PATH. Raises CommandError if there is no program, or if the variable is
    ``NONE``. The message explains what to do.
    """
    named = os.environ.get("MARGINALIA_ENGINE")
    if named == NONE:
        raise CommandError(
            "No storage engine may run here, because MARGINALIA_ENGINE has the value 'none': use a "
            "table on another store with --endpoint-url or --aws."
        )
    if named:
        if not Path(named).is_file():
            raise CommandError(
                f"The storage engine is not at {named}: set MARGINALIA_ENGINE to the path of the "
                "program dynoxide, or unset it."
            )
        return Path(named).resolve()
    packaged = packaged_engine()
    if packaged.is_file():
        return packaged
    found = shutil.which("dynoxide")
    if found is None:
        raise CommandError(_way())
    return Path(found)


def packaged_engine() -> Path:
    """Return the path at which npm installs the program, even if no file exists there."""
    return _ROOT / "node_modules/@dynoxide" / _platform() / "dynoxide"


def _platform() -> str:
    """Return npm's name for the platform of this machine, such as linux-x64."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_CPUS.get(machine, machine)}"


def _way() -> str:
    """Return the sentence that explains how to install the engine on this machine."""
    if _platform() == "linux-x64":
        return "The storage engine is not installed: run `make setup`."
    command = "cargo install dynoxide-rs"
    if _platform() in _PACKAGED:
        pinned = orjson.loads((_ROOT / "package.json").read_bytes())["optionalDependencies"]
        version = pinned["@dynoxide/linux-x64"]
        command = f"npm install --no-save --omit=dev @dynoxide/{_platform()}@{version}"
    return (
        f"The storage engine is not installed, and setup cannot install it for {_platform()}: "
        f"run `{command}`, or use another store with --endpoint-url or --aws."
    )


def main() -> None:
    """If the engine is missing, print how to install it. ``make setup`` ends with this call."""
    try:
        engine_binary()
    except CommandError as error:
        print(error)  # noqa: T201 - the output of make setup


if __name__ == "__main__":
    main()
