"""What features add to the lists of the core's tests, such as the examples of access patterns.

A feature adds an attribute of its module ``lists``, or a file, in ``tests/features/<feature>``.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from tests.engines import ROOT

K = TypeVar("K")
T = TypeVar("T")


def files(name: str) -> list[Path]:
    """Return the files of this name of all features."""
    return sorted((ROOT / "tests/features").glob(f"*/{name}"))


def added(name: str) -> list[Any]:
    """Return the attributes of this name of all features."""
    modules = [f"tests.features.{path.parent.name}.lists" for path in files("lists.py")]
    found = [getattr(import_module(module), name, None) for module in modules]
    return [one for one in found if one is not None]


def merged(core: Mapping[K, T], name: str) -> dict[K, T]:
    """Return the core's entries, then the entries of features: attributes of this name."""
    return dict(core) | {key: value for one in added(name) for key, value in one.items()}
