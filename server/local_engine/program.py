"""Finds the program of the embedded engine. If it is missing, explains how to install it."""

import os
import platform
import shutil
import sys
from pathlib import Path

from server.errors import CommandError

_ROOT = Path(__file__).parents[2]
NONE = "none"
"""If ``MARGINALIA_ENGINE`` has this value, no engine may run, as in a container image for AWS."""

_CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
PACKAGED = {"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"}
"""The platforms for which package.json names a package of the engine. The programs for Linux are
static, so they also run with the C library musl."""


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
    """Return the path at which npm installs the program, even if no file exists there.

    npm chooses the package by the CPU for which Node.js was built. On a Mac with an Arm CPU,
    Node.js or Python may be built for x86-64. Such a Mac runs both programs of the engine.
    """
    packages = _ROOT / "node_modules/@dynoxide"
    own = packages / _platform() / "dynoxide"
    if sys.platform == "darwin" and not own.is_file():
        return next(packages.glob("darwin-*/dynoxide"), own)
    return own


def _platform() -> str:
    """Return npm's name for the platform of this machine, such as linux-x64."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_CPUS.get(machine, machine)}"


def _way() -> str:
    """Return the sentence that explains how to install the engine on this machine."""
    or_else = (
        "run `cargo install dynoxide-rs`, or set MARGINALIA_ENGINE=none and use another store with "
        "--endpoint-url or --aws."
    )
    if _platform() not in PACKAGED:
        return f"npm has no storage engine for {_platform()}: {or_else}"
    if (_ROOT / "node_modules/installed").exists():
        return (
            f"npm has not installed the package @dynoxide/{_platform()}, the storage engine: "
            f"delete the directory node_modules and run `make setup` again, or {or_else}"
        )
    return "The storage engine is not installed: run `make setup`."


def main() -> None:
    """Exit with the sentence that explains how to install the engine if it is missing.

    ``make setup`` ends with this call.
    """
    if os.environ.get("MARGINALIA_ENGINE") == NONE:
        return
    try:
        engine_binary()
    except CommandError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
