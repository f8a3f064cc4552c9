"""What the core's tests know of trusted documents."""

from pathlib import Path

SETTINGS = {"documents": ("one.json:two.json", [Path("one.json"), Path("two.json")])}

EXCLUDING_FLAGS = ("apq",)
