"""Presets: how exports that many shops have are written, one TOML file each, also of one's own.

    format = "csv"                      # or jsonl, parquet, xml
    kind = "comments"                   # or orders, organizations, products, profiles, tickets
    encoding = "cp1252"                 # UTF-8 if not given
    delimiter = ";"                     # of CSV; what the header uses if not given
    row = "Feed/Review"                 # of XML: the path of the elements that are rows
    id_from = ["customer", "sku"]       # columns whose hash is the id, where no column is
    date_unit = "ms"                    # of numbers: s, ms or us
    date_format = "%d.%m.%Y"            # as of strptime, where dates are not of ISO 8601

    [map]                               # field = column, as --map
    [set]                               # field = value of every row, as --set
    [default]                           # field = value where its column has none
    [values.verified_purchase]          # cell = value; other cells count as empty
    [keep]                              # column = cells of the rows to load; empty ones are kept
    [no_place]                          # what it is = columns that no field holds yet

Every key may be left out. Options of the command line come before a preset.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from server.errors import CommandError
from server.importer.file_kinds import FILE_KINDS, FileKindName
from server.importer.formats import FormatName
from server.importer.instants import DateUnit

_SUFFIX = ".toml"
_OURS = resources.files("server.importer").joinpath("presets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What is known of a file before it is read; the module's docstring tells what each is for."""

    name: str = ""
    """What messages call it; empty when none was chosen."""
    about: str = ""
    format: FormatName | None = None
    kind: FileKindName | None = None
    encoding: str | None = None
    delimiter: str | None = None
    row: str | None = None
    id_from: Sequence[str] = ()
    date_unit: DateUnit | None = None
    date_format: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, object] = field(default_factory=dict)
    default: Mapping[str, object] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    keep: Mapping[str, Sequence[str]] = field(default_factory=dict)
    no_place: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def known(self) -> frozenset[str]:
        """Return every column that it names."""
        places = [column for columns in self.no_place.values() for column in columns]
        return frozenset([*self.map.values(), *self.id_from, *self.keep, *places])


NO_PRESET = Preset()


def find_preset(name: str | None) -> Preset:
    """Return the preset of that name, or of that TOML file; CommandError where there is none."""
    if name is None:
        return NO_PRESET
    if name in preset_names():
        return presets()[name]
    if not name.endswith(_SUFFIX):
        raise CommandError(
            f"--preset {name} is not known: choose one of {', '.join(preset_names())}, or name a "
            "file that ends in .toml."
        )
    try:
        return _read(name, Path(name).read_bytes())
    except OSError as error:
        raise CommandError(f"--preset {name} cannot be read: {error.strerror}.") from error


def preset_names() -> Sequence[str]:
    """Return the names of the presets that come with Marginalia, in alphabetic order."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _OURS.iterdir())


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets that come with Marginalia by name, in alphabetic order."""
    files = {name: _OURS.joinpath(f"{name}{_SUFFIX}") for name in preset_names()}
    return {name: _read(name, file.read_bytes()) for name, file in files.items()}


def _read(name: str, content: bytes) -> Preset:
    try:
        table = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"--preset {name} is not TOML: {error}.") from error
    for key, value in table.items():
        if fault := _fault(key, value):
            raise CommandError(f"--preset {name}: {key} {fault}.")
    return Preset(name=name, **table)


def _fault(key: str, value: object) -> str | None:
    """Tell what is wrong with one key of a preset."""
    known = [one.name for one in fields(Preset) if one.name != "name"]
    if key not in known:
        return f"is not known; a preset has {', '.join(known)}"
    choices = _CHOICES.get(key)
    if choices is not None and value not in choices:
        return f"is {value!r}; it must be one of {', '.join(choices)}"
    return None if _FORMS.get(key, _is_text)(value) else f"is not of the form {_SHOWN[key]}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _of(inner: Any) -> Any:
    return lambda value: isinstance(value, dict) and all(map(inner, value.values()))


_CHOICES: Mapping[str, Sequence[str]] = {
    "format": get_args(FormatName),
    "kind": list(FILE_KINDS),
    "date_unit": get_args(DateUnit),
}
_FORMS = {
    "id_from": _is_texts,
    "map": _of(_is_text),
    "set": _of(_is_scalar),
    "default": _of(_is_scalar),
    "values": _of(_of(_is_scalar)),
    "keep": _of(_is_texts),
    "no_place": _of(_is_texts),
}
_SHOWN = dict.fromkeys((one.name for one in fields(Preset)), '"text"') | {
    "id_from": '["column", "column"]',
    "map": 'field = "column"',
    "set": 'field = "value"',
    "default": 'field = "value"',
    "values": '[values.field] with "cell" = "value"',
    "keep": 'column = ["cell", "cell"]',
    "no_place": 'what = ["column", "column"]',
}
