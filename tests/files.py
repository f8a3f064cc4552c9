"""The kinds of items, by the name of their kind of file."""

from dal.composition import KINDS

FILES = {kind.file.name: kind for kind in KINDS if kind.file is not None}
