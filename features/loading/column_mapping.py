"""Maps the columns of a file to fields. Command-line options and a preset define the mapping.

A preset is a TOML file that describes the files of one program. Operators can write presets:

    about = "Our old shop"              # a description for people
    format = "csv"                      # or jsonl, parquet, xml
    kind = "comments"                   # or another kind of --kind
    encoding = "cp1252"                 # default: UTF-8
    delimiter = ";"                     # only for CSV; default: found in the header
    quote = "none"                      # only for CSV: quotes are ordinary characters
    skip_lines = 2                      # only for CSV and JSONL: lines before the rows
    html = true                         # texts, titles and names are HTML
    row = "Feed/Review"                 # only for XML: the path of the elements that are rows
    id_from = ["customer", "sku"]       # hash these columns into an id if the file has no ids
    author_from = ["reviewer"]          # columns with an id that the author has only in the program
    date_unit = "ms"                    # the unit of Unix times: s, ms or us
    date_format = "%d.%m.%Y"            # format for strptime, if dates are not ISO 8601

    [map]                               # field = column, like --map
    [set]                               # field = value in every row, like --set
    [default]                           # field = value for rows with an empty or missing cell
    [values.verified_purchase]          # cell in the file = value; other cells count as empty
    [values.state]                      # cell in the file = value; other cells are rejected
    [keep]                              # column = cells; load only rows with these or empty cells
    [leave_out]                         # column = cells; do not load the rows with these cells
    [no_place]                          # noun = columns not to load; the report counts their values

Every key is optional. Options of the command line take precedence over a preset.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Generic, Literal, get_args

from dal.kinds.field_parsers import DateReader, DateUnit, explanation, instant, refused, title
from dal.kinds.item_kind import Field, FileKind, Thing
from dal.model import rules
from dal.table.errors import InvalidArgumentError
from features.loading import parsers
from features.loading.hashed_ids import hashed, imported_owner
from server.errors import CommandError

TextFormat = Literal["jsonl", "csv", "xml"]
FormatName = Literal["jsonl", "csv", "xml", "parquet"]

_SUFFIX = ".toml"
_MAY_BE_BLANK = {title, explanation}
"""The parsers that keep a text without a visible character. For other parsers, it is empty."""

_PROSE = {
    title,
    explanation,
    parsers.review,
    parsers.body,
    parsers.reply,
    parsers.name,
    parsers.incentive,
}
"""The parsers of fields that may be HTML."""

_PROBE = datetime(2003, 11, 22, tzinfo=UTC)
_OURS = resources.files("features.loading").joinpath("presets")


def _like(example: Any) -> Any:
    """Declare a key of a preset whose value is not text. Messages show the example.

    By default, the value is empty.
    """
    return field(default_factory=type(example), metadata={"example": example})


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The layout of a file. The module's docstring describes the keys of a preset."""

    name: str = ""
    """The name that messages show. Empty if no preset is used."""
    about: str = ""
    format: FormatName | None = None
    kind: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quote: Literal["none"] | None = None
    skip_lines: int = _like(2)
    html: bool = _like(True)
    row: str | None = None
    id_from: Sequence[str] = _like(["column"])
    author_from: Sequence[str] = _like(["column"])
    date_unit: DateUnit | None = None
    date_format: str | None = None
    map: Mapping[str, str] = _like({"field": "column"})
    set: Mapping[str, object] = _like({"field": "value"})
    default: Mapping[str, object] = _like({"field": "value"})
    values: Mapping[str, Mapping[str, object]] = _like({"field": {"cell": "value"}})
    keep: Mapping[str, Sequence[str]] = _like({"column": ["cell"]})
    leave_out: Mapping[str, Sequence[str]] = _like({"column": ["cell"]})
    no_place: Mapping[str, Sequence[str]] = _like({"votes": ["column"]})

    def known(self) -> frozenset[str]:
        """Return every column that the preset names."""
        places = [column for columns in self.no_place.values() for column in columns]
        rows = (*self.keep, *self.leave_out)
        return frozenset([*self.map.values(), *self.id_from, *self.author_from, *rows, *places])


NO_PRESET = Preset()


def find_preset(name: str | None, kinds: Collection[str]) -> Preset:
    """Return the preset with this name. ``kinds`` are the names of the kinds of files.

    ``name`` is one of Marginalia's own presets, or the path of a TOML file with a preset. If
    ``name`` is None, return ``NO_PRESET``. Raises CommandError if the name is unknown, or if the
    file cannot be read or is invalid.
    """
    if name is None:
        return NO_PRESET
    if name in preset_names():
        return presets()[name]
    if not name.endswith(_SUFFIX):
        raise CommandError(
            f"--preset {name} is unknown: choose one of {', '.join(preset_names())}, or name a "
            "file that ends in .toml."
        )
    try:
        return _read(name, Path(name).read_bytes(), kinds)
    except OSError as error:
        raise CommandError(f"--preset {name} cannot be read: {error.strerror}.") from error


def preset_names() -> Sequence[str]:
    """Return the names of Marginalia's own presets in alphabetical order."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _OURS.iterdir())


@cache
def presets() -> Mapping[str, Preset]:
    """Return Marginalia's own presets by name, in alphabetical order."""
    files = {name: _OURS.joinpath(f"{name}{_SUFFIX}") for name in preset_names()}
    return {name: _read(name, file.read_bytes(), ()) for name, file in files.items()}


_CHOICES: Mapping[str, Sequence[str]] = {
    "format": get_args(FormatName),
    "date_unit": get_args(DateUnit),
    "quote": ["none"],
}


def _read(name: str, content: bytes, kinds: Collection[str]) -> Preset:
    try:
        table = tomllib.loads(content.decode())
    except (RecursionError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"--preset {name} is not TOML: {error}.") from error
    keys = {one.name: one.metadata for one in fields(Preset) if one.name != "name"}
    choices = {**_CHOICES, "kind": kinds}
    for key, value in table.items():
        fault = None
        if key not in keys:
            fault = f"is unknown; a preset has {', '.join(keys)}"
        elif key in choices and value not in choices[key]:
            fault = f"is {value!r}; it must be one of {', '.join(choices[key])}"
        elif not _has_form(value, example := keys[key].get("example", "text")):
            shown = json.dumps(example).replace('":', '" =')  # JSON to TOML
            fault = f"is {value!r}; write it as `{key} = {shown}`"
        if fault:
            raise CommandError(f"--preset {name}: {key} {fault}.")
    return Preset(name=name, **table)


def _has_form(value: object, example: object) -> bool:
    if isinstance(example, dict):
        (inner,) = example.values()
        return isinstance(value, dict) and all(_has_form(one, inner) for one in value.values())
    if isinstance(example, int):
        return type(value) is type(example) and value >= 0
    if isinstance(example, list):
        return isinstance(value, list) and all(_has_form(one, example[0]) for one in value)
    return isinstance(value, str | int | float if example == "value" else str)


_LISTED = 25
_ID, _OWNER, _NAME = "id", "username", "author_name"


@dataclass(frozen=True, slots=True)
class ColumnMapping(Generic[Thing]):
    """Maps the columns of a file to fields, and makes an object from each row."""

    kind: FileKind[Thing]
    columns: Mapping[str, str]
    """The name of the column for each field name."""
    constants: Mapping[str, object]
    """The value of each field that has the same value in all rows."""
    preset: Preset
    values: Mapping[str, Mapping[str, object]]
    """The values that replace cells, by field name and by the cell in lower case. In a field that
    is listed here, a cell that is not listed counts as empty. But if the field is ``strict``, the
    row is rejected."""
    id_from: Sequence[str]
    """The columns whose cells are hashed into the id. Empty if a column contains the id."""
    author_from: Sequence[str]
    """The columns that identify a comment's author outside the shop. Their cells are hashed into
    the id of an owner without an account."""
    named: frozenset[str]
    """The fields that --map names. The file must have their columns, even if the fields are
    optional."""
    declared: Sequence[str]
    """The columns of ``kept`` fields that a preset or --map names. In a JSONL or XML file, a row
    without such a column has an empty cell there."""

    def make(self, cells: Mapping[str, object]) -> Thing:
        """Return the object of one row.

        Raise InvalidArgumentError, which names the field, if a cell is invalid or a required field
        is missing.
        """
        values = dict(self.constants)
        for one in self.kind.fields:
            column = self.columns.get(one.name)
            if column is None:
                continue
            cell = self._written(one, cells.get(column))
            if one.name in self.values and cell not in (None, ""):
                cell = self._translated(one, column, cell)
            if cell is None or cell == "":
                cell = self.preset.default.get(one.name, cell)
            required = one.required and not one.or_else
            if cell is not None and (cell != "" or required):
                values[one.name] = one.parse(one.name, cell)
            elif one.kept and column in cells:
                values[one.name] = None
            elif required:
                where = "" if column == one.name else f" (column {column!r})"
                raise InvalidArgumentError(one.name, f"{one.name}{where} is missing.")
        if self.id_from:
            values[_ID] = hashed_id([cells.get(column) for column in self.id_from])
        return self.kind.make(values | self._author(cells, values))

    def _written(self, one: Field, cell: object) -> object:
        """Return the cell without HTML, and without blanks that mean that it is empty."""
        if not isinstance(cell, str):
            return cell
        if self.preset.html and one.parse in _PROSE:
            cell = _plain(one.name, cell)
        blank = one.parse not in _MAY_BE_BLANK and not rules.trimmed(cell)
        return "" if blank else cell

    def _author(
        self, cells: Mapping[str, object], values: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the owner and the name of an author whom the columns ``author_from`` identify."""
        author = _texts([cells.get(column) for column in self.author_from])
        if not any(author):
            return {}
        shown = values.get(_NAME) or rules.name(_NAME, " ".join(author))
        return {_OWNER: imported_owner("author", *author), _NAME: shown}

    def _translated(self, one: Field, column: str, cell: object) -> object:
        """Return the preset's value for a cell, or None if the preset has no value for it.

        Raise InvalidArgumentError instead of returning None if the field is ``strict``.
        """
        listed = self.values[one.name]
        value = listed.get(str(cell).strip().lower())
        if value is None and one.strict:
            raise refused(column, cell, f"one of {', '.join(listed)}")
        return value

    def missing(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return a pair of field and column for each required column that ``columns`` lacks."""
        found = {name for name, column in self.columns.items() if column in columns}
        found |= {*self.preset.default, *self.constants}
        needed = [
            (one.name, self.columns[one.name])
            for one in self.kind.fields
            if one.name in self.columns
            and (
                one.name in self.named
                or (one.required and found.isdisjoint({one.name, one.or_else}))
            )
        ]
        needed += [(_ID, column) for column in self.id_from]
        return [(name, column) for name, column in needed if column not in columns]

    def check_header(self, name: str, header: Sequence[str]) -> None:
        """Raise CommandError if ``header`` lacks a required column, or repeats a mapped column."""
        for field_name, column in self.missing(header):
            instead = f"or fill it with `--set {field_name}=VALUE`"
            if field_name == self.kind.fields[0].name:
                instead = "or make it from several columns with `--id-from COLUMN,COLUMN`"
            elif field_name == _OWNER and self.kind.name == "comments":
                instead = "or, if the file has only names, with `--map author_name=COLUMN`"
            raise CommandError(
                f"{name} has no column {column!r} for {field_name}, only {listed(header)}: "
                f"name one with `--map {field_name}=COLUMN` {instead}."
            )
        for column in sorted({*self.columns.values(), *self.id_from, *self.author_from}):
            if header.count(column) > 1:
                raise CommandError(f"{name} has the column {column!r} twice: rename one of them.")


def _plain(field: str, markup: str) -> str:
    # The parser is only needed for files with HTML, and its import takes milliseconds.
    from features.loading.html_text import MAX_HTML_CHARACTERS, text_of  # noqa: PLC0415

    if len(markup) > MAX_HTML_CHARACTERS:
        raise InvalidArgumentError(
            field,
            f"{field} has {len(markup):,} characters of HTML; the maximum is "
            f"{MAX_HTML_CHARACTERS:,}: shorten it.",
        )
    try:
        return text_of(markup)
    except UnicodeEncodeError:
        return markup  # It contains a surrogate, so the field's parser refuses it.


def hashed_id(cells: Sequence[object]) -> str:
    """Return an id for a row without an id: the first 32 hex digits of the SHA-256 of ``cells``.

    Equal cells result in the same id in every file. Blanks at the ends of cells make no difference.
    Raises InvalidArgumentError if all cells are empty.
    """
    texts = _texts(cells)
    if not any(texts):
        raise InvalidArgumentError(_ID, "id cannot be made: all columns of --id-from are empty.")
    return hashed(*texts)


def _texts(cells: Sequence[object]) -> list[str]:
    return ["" if cell is None else rules.trimmed(str(cell)) for cell in cells]


def date_reader(unit: DateUnit | None, form: str | None) -> DateReader:
    """Return a parser of dates.

    Raise CommandError if ``form`` lacks the year, month or day, or if both arguments are given.
    """
    if form is None:
        return DateReader(unit)
    if unit is not None:
        raise CommandError(
            "--date-unit and --date-format cannot be used together: remove one of them."
        )
    try:
        probe = datetime.strptime(_PROBE.strftime(form), form)  # noqa: DTZ007 - only the day matters
    except (ValueError, re.error):
        probe = None
    if probe is None or probe.date() != _PROBE.date():
        raise CommandError(
            f"--date-format {form!r} lacks the day, month or year: write it as for strptime, such "
            "as '%m/%d/%Y' or '%d.%m.%Y %H:%M'."
        )
    return DateReader(unit, form)


def make_column_mapping(
    kind: FileKind[Thing],
    maps: Sequence[str],
    sets: Sequence[str],
    preset: Preset = NO_PRESET,
) -> ColumnMapping[Thing]:
    """Return the mapping that a preset and the pairs of ``--map`` and ``--set`` define.

    ``maps`` contains ``FIELD=COLUMN``, and ``sets`` contains ``FIELD=VALUE``. A pair overrides the
    preset. If neither a pair nor the preset names a field, the field's column has the field's name.
    Raises CommandError for a malformed pair, an unknown field, a value that is invalid for its
    field, or options that cannot be used together.
    """
    mapped, constants = _pairs(kind, "--map", maps), _pairs(kind, "--set", sets)
    if both := sorted(mapped.keys() & constants.keys()):
        raise CommandError(f"{both[0]} is in --map and in --set: remove one of them.")
    dates = date_reader(preset.date_unit, preset.date_format)
    dated = [replace(one, parse=dates) if one.parse is instant else one for one in kind.fields]
    kind = replace(kind, fields=tuple(dated))
    known = [one.name for one in kind.fields]
    for name in (*preset.map, *preset.set, *preset.default, *preset.values):
        if name not in known:
            raise CommandError(
                f"--preset {preset.name}: {name} is not a field of {kind.name}. "
                f"Their fields are {listed(known)}."
            )
    _parsed(kind, f"--preset {preset.name}: [default]", preset.default)
    identity = kind.fields[0].name
    id_from = () if _ID in mapped else preset.id_from
    if identity in constants or identity in preset.set:
        raise CommandError(
            f"--set {identity} would give all rows the same {identity}: name its column with "
            f"--map {identity}=COLUMN."
        )
    if id_from and identity != _ID:
        raise CommandError(f"{kind.name} have a {identity} instead of an id: remove --id-from.")
    author_from = () if _OWNER in mapped else preset.author_from
    if author_from and kind.name != "comments":
        raise CommandError(
            f"--preset {preset.name}: author_from is only for comments, not for {kind.name}."
        )
    if kind.name == "comments" and _OWNER in {*preset.default, *preset.set, *constants}:
        raise CommandError(
            "A username for several rows would give the comments of different people to one user: "
            "set author_name instead, for example with `--set author_name=Anonymous`."
        )
    fixed = {name: one for name, one in preset.set.items() if name not in mapped} | constants
    made = {*fixed, *([_ID] if id_from else []), *([_OWNER] if author_from else [])}
    columns = {name: name for name in known} | dict(preset.map) | mapped
    return ColumnMapping(
        kind,
        {name: column for name, column in columns.items() if name not in made},
        _parsed(kind, "--set", fixed),
        preset,
        {
            name: {cell.lower(): value for cell, value in cells.items()}
            for name, cells in preset.values.items()
        },
        id_from,
        author_from,
        frozenset(mapped),
        [
            columns[one.name]
            for one in kind.fields
            if one.kept and one.name in {*preset.map, *mapped} - made
        ],
    )


def listed(names: Sequence[str]) -> str:
    """Return the first twenty names with commas between them, and ``…`` if there are more."""
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")


def _parsed(
    kind: FileKind[Thing], option: str, constants: Mapping[str, object]
) -> dict[str, object]:
    parse = {one.name: one.parse for one in kind.fields}
    try:
        return {name: parse[name](name, cell) for name, cell in constants.items()}
    except InvalidArgumentError as error:
        raise CommandError(f"{option} is refused: {error}") from error


def _pairs(kind: FileKind[Thing], option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Parse the pairs of one option. Return the column or value of each field."""
    found: dict[str, str] = {}
    known = [one.name for one in kind.fields]
    value_name = "COLUMN" if option == "--map" else "VALUE"
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not value:
            raise CommandError(f"{option} {pair!r} is incomplete: write FIELD={value_name}.")
        if name not in known:
            raise CommandError(
                f"{option} {pair!r} names no field of {kind.name}. "
                f"Their fields are {listed(known)}."
            )
        if name in found:
            raise CommandError(f"{option} has {name} twice: remove one of them.")
        found[name] = value
    return found
