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

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Generic, Literal, get_args

from dal.errors import InvalidArgumentError
from server.errors import CommandError
from server.importer.field_parsers import DateUnit, date_reader, instant
from server.importer.file_kinds import FILE_KINDS, Field, FileKind, FileKindName, Thing

TextFormat = Literal["jsonl", "csv", "xml"]
FormatName = Literal["jsonl", "csv", "xml", "parquet"]

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


_LISTED = 20
_ID = "id"
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class ColumnMapping(Generic[Thing]):
    """Makes one object of a row; a field without a column of its own has a constant value."""

    kind: FileKind[Thing]
    columns: Mapping[str, str]
    """Field name to column name."""
    constants: Mapping[str, object]
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Values of fields whose column is empty or absent."""
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What a field's cells stand for; other cells count as empty."""
    id_from: Sequence[str] = ()
    """Columns whose hash is the id."""
    named: frozenset[str] = frozenset()
    """Fields whose column must be there though they are optional."""

    def make(self, cells: Mapping[str, object]) -> Thing:
        """Return the object of one row; InvalidArgumentError names the field at fault."""
        values = dict(self.constants)
        for one in self.kind.fields:
            column = self.columns.get(one.name)
            if column is None:
                continue
            cell = self._cell(one, cells.get(column))
            if cell is None or (cell == "" and not one.required):
                self._check_optional(one, column)
            else:
                values[one.name] = one.parse(one.name, cell)
        if self.id_from:
            values[_ID] = hashed_id([cells.get(column) for column in self.id_from])
        return self.kind.make(values)

    @property
    def used(self) -> frozenset[str]:
        """The columns that a field's value is made of."""
        return frozenset([*self.columns.values(), *self.id_from])

    def missing(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return field and column of each that must be there and is not."""
        needed = [
            (one.name, self.columns[one.name])
            for one in self.kind.fields
            if one.name in self.columns and self._expected(one)
        ]
        needed += [(_ID, column) for column in self.id_from]
        return [(name, column) for name, column in needed if column not in columns]

    def check_header(self, name: str, header: Sequence[str]) -> None:
        """Raise CommandError unless each column that must be there is in ``header``, once."""
        for field_name, column in self.missing(header):
            instead = f"or fill it with `--set {field_name}=VALUE`"
            if field_name == self.kind.fields[0].name:
                instead = "or make it of several with `--id-from COLUMN,COLUMN`"
            raise CommandError(
                f"{name} has no column {column!r} for {field_name}, only {listed(header)}: "
                f"name one with `--map {field_name}=COLUMN` {instead}."
            )
        for column in sorted(self.used):
            if header.count(column) > 1:
                raise CommandError(f"{name} has the column {column!r} twice: rename one of them.")

    def _cell(self, one: Field, cell: object) -> object:
        if one.name in self.values:
            cell = self.values[one.name].get(str(cell).strip())
        if cell is None or cell == "":
            return self.defaults.get(one.name, cell)
        return cell

    def _expected(self, one: Field) -> bool:
        return one.name in self.named or (one.required and one.name not in self.defaults)

    def _check_optional(self, one: Field, column: str) -> None:
        if one.required:
            where = "" if column == one.name else f" (column {column!r})"
            raise InvalidArgumentError(one.name, f"{one.name}{where} is missing.")


def hashed_id(cells: Sequence[object]) -> str:
    """Return the id of a row that has none: hex of SHA-256's first half over the cells' texts.

    The same row has the same id in every file and format. InvalidArgumentError where all are empty.
    """
    texts = ["" if cell is None else str(cell) for cell in cells]
    if not any(texts):
        raise InvalidArgumentError(_ID, "id cannot be made: all columns of --id-from are empty.")
    digest = hashlib.sha256(json.dumps(texts).encode())
    return digest.hexdigest()[: 2 * _ID_BYTES]


def make_column_mapping(
    kind: FileKind[Thing],
    maps: Sequence[str],
    sets: Sequence[str],
    preset: Preset = NO_PRESET,
) -> ColumnMapping[Thing]:
    """Read ``FIELD=COLUMN`` and ``FIELD=VALUE`` pairs, which come before those of the preset.

    A field without either keeps its name. Raises CommandError for a pair that is none, an unknown
    field, and a value its field refuses.
    """
    mapped, constants = _pairs(kind, "--map", maps), _pairs(kind, "--set", sets)
    if both := sorted(mapped.keys() & constants.keys()):
        raise CommandError(f"{both[0]} is given by --map and by --set: leave one of them out.")
    kind = _with_dates(kind, preset)
    _check_preset(kind, preset)
    identity = kind.fields[0].name
    id_from = () if _ID in mapped else preset.id_from
    if identity in constants or identity in preset.set:
        raise CommandError(f"--set {identity} would give all rows the same {identity}: use --map.")
    if id_from and identity != _ID:
        raise CommandError(f"{kind.name} have a {identity} and no id: leave --id-from out.")
    fixed = {name: one for name, one in preset.set.items() if name not in mapped} | constants
    made = {*fixed, _ID} if id_from else {*fixed}
    columns = {one.name: one.name for one in kind.fields} | dict(preset.map) | mapped
    return ColumnMapping(
        kind,
        {name: column for name, column in columns.items() if name not in made},
        _parsed(kind, "--set", fixed),
        preset.default,
        preset.values,
        id_from,
        frozenset(mapped),
    )


def listed(names: Sequence[str]) -> str:
    """Return the first twenty names as a sentence's part."""
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")


def _with_dates(kind: FileKind[Thing], preset: Preset) -> FileKind[Thing]:
    reader = date_reader(preset.date_unit, preset.date_format)
    dated = [replace(one, parse=reader) if one.parse is instant else one for one in kind.fields]
    return replace(kind, fields=tuple(dated))


def _check_preset(kind: FileKind[Thing], preset: Preset) -> None:
    known = [one.name for one in kind.fields]
    for table in (preset.map, preset.set, preset.default, preset.values):
        for name in table:
            if name not in known:
                raise CommandError(
                    f"--preset {preset.name}: {name} is no field of {kind.name}: {listed(known)}."
                )
    _parsed(kind, f"--preset {preset.name}: [default]", preset.default)


def _parsed(
    kind: FileKind[Thing], option: str, constants: Mapping[str, object]
) -> dict[str, object]:
    fields = {one.name: one for one in kind.fields}
    try:
        return {name: fields[name].parse(name, cell) for name, cell in constants.items()}
    except InvalidArgumentError as error:
        raise CommandError(f"{option} is refused: {error}") from error


def _pairs(kind: FileKind[Thing], option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return the pairs of one option by field."""
    found: dict[str, str] = {}
    known = [one.name for one in kind.fields]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise CommandError(f"{option} {pair!r} is no pair: write it as FIELD=VALUE.")
        if name not in known:
            raise CommandError(f"{option} {pair!r} names no field of {kind.name}: {listed(known)}.")
        if name in found:
            raise CommandError(f"{option} gives {name} twice: leave one of them out.")
        found[name] = value
    return found
