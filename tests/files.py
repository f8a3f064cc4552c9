"""The items of files, by the name of the kind of file."""

from dal.composition import KINDS

FILES = {kind.file.name: kind.file for kind in KINDS if kind.file is not None}
