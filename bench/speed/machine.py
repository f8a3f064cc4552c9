"""What was measured on what: the machine, and the versions of everything."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

from bench.speed.servers import PEERS, Node

_ROOT = Path(__file__).parents[2]
_PYTHON = ("uvicorn", "uvloop", "strawberry-graphql", "graphql-core", "aioboto3")


def machine() -> str:
    """Return the processor, its cores, and how busy they were in the last minute."""
    model = "an unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    load, *_ = os.getloadavg()
    return (
        f"{os.cpu_count()} cores of {model}, Linux {platform.release()}, "
        f"load average {load:.1f} at the start"
    )


def versions(postgresql: str | None, node: Node | None) -> str:
    """Return the version of each program that took part."""
    found = {"Python": platform.python_version(), "dynoxide": _pinned(_ROOT)["@dynoxide/linux-x64"]}
    found |= {name: version(name) for name in _PYTHON}
    if node is not None:
        found |= {"Node.js": node.version} | _pinned(PEERS)
    if postgresql is not None:
        found["PostgreSQL"] = postgresql
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _pinned(place: Path) -> dict[str, str]:
    package = json.loads((place / "package.json").read_text(encoding="utf-8"))
    return dict(package["dependencies"] | package.get("optionalDependencies", {}))
