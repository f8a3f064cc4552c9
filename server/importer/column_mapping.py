"""How the columns of a file become fields, from ``--map`` and ``--set``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from dal.errors import InvalidArgumentError
from server.errors import CommandError
from server.importer.file_kinds import Field, FileKind, Thing

_LISTED = 20


@dataclass(frozen=True, slots=True)
class ColumnMapping(Generic[Thing]):
    """Makes one object of a row; a field without a column of its own has a constant value."""

    kind: FileKind[Thing]
    columns: Mapping[str, str]
    """Field name to column name."""
    constants: Mapping[str, object]

    def make(self, cells: Mapping[str, object]) -> Thing:
        """Return the object of one row; InvalidArgumentError names the field at fault."""
        values = dict(self.constants)
        for field in self.kind.fields:
            column = self.columns.get(field.name)
            if column is None:
                continue
            cell = cells.get(column)
            if cell is None or (cell == "" and not field.required):
                self._check_optional(field, column)
            else:
                values[field.name] = field.parse(field.name, cell)
        return self.kind.make(values)

    def check_header(self, name: str, header: Sequence[str]) -> None:
        """Raise CommandError unless each column that must be there is in ``header``, once."""
        for field in self.kind.fields:
            column = self.columns.get(field.name)
            if column is None or (column not in header and not self._expected(field)):
                continue
            if column not in header:
                raise CommandError(
                    f"{name} has no column {column!r} for {field.name}, only {_listed(header)}: "
                    f"name one with `--map {field.name}=COLUMN` or fill it with "
                    f"`--set {field.name}=VALUE`."
                )
            if header.count(column) > 1:
                raise CommandError(f"{name} has the column {column!r} twice: rename one of them.")

    def _expected(self, field: Field) -> bool:
        return field.required or self.columns[field.name] != field.name

    def _check_optional(self, field: Field, column: str) -> None:
        if field.required:
            where = "" if column == field.name else f" (column {column!r})"
            raise InvalidArgumentError(field.name, f"{field.name}{where} is missing.")


def make_column_mapping(
    kind: FileKind[Thing], maps: Sequence[str], sets: Sequence[str]
) -> ColumnMapping[Thing]:
    """Read ``FIELD=COLUMN`` and ``FIELD=VALUE`` pairs; a field without either keeps its name.

    Raises CommandError for a pair that is none, an unknown field, and a value its field refuses.
    """
    mapped, constants = _pairs(kind, "--map", maps), _pairs(kind, "--set", sets)
    if both := sorted(mapped.keys() & constants.keys()):
        raise CommandError(f"{both[0]} is given by --map and by --set: leave one of them out.")
    identity = kind.fields[0].name
    if identity in constants:
        raise CommandError(f"--set {identity} would give all rows the same {identity}: use --map.")
    fields = {field.name: field for field in kind.fields}
    try:
        values = {name: fields[name].parse(name, cell) for name, cell in constants.items()}
    except InvalidArgumentError as error:
        raise CommandError(f"--set is refused: {error}") from error
    own = {name: name for name in fields if name not in constants}
    return ColumnMapping(kind, own | mapped, values)


def _pairs(kind: FileKind[Thing], option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return the pairs of one option by field."""
    found: dict[str, str] = {}
    known = [field.name for field in kind.fields]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise CommandError(f"{option} {pair!r} is no pair: write it as FIELD=VALUE.")
        if name not in known:
            raise CommandError(
                f"{option} {pair!r} names no field of {kind.name}: {_listed(known)}."
            )
        if name in found:
            raise CommandError(f"{option} gives {name} twice: leave one of them out.")
        found[name] = value
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" …" if len(names) > _LISTED else "")
