"""What trusted documents add to the lists of the core's tests."""

from pathlib import Path

SETTINGS = {"documents": ("one.json:two.json", [Path("one.json"), Path("two.json")])}

EXCLUDING_FLAGS = ("apq",)
