"""How the columns of a file become fields, from a preset, ``--map``, ``--set``, ``--id-from``."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from dal.errors import InvalidArgumentError
from server.errors import CommandError
from server.importer.file_kinds import Field, FileKind, Thing
from server.importer.instants import date_reader, instant
from server.importer.presets import NO_PRESET, Preset

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
