"""Whether a file has the columns that a preset reads, and which preset fits it instead."""

from collections.abc import Sequence

from server.errors import CommandError
from server.importer.column_mapping import ColumnMapping, listed, make_column_mapping
from server.importer.file_kinds import FILE_KINDS, Thing
from server.importer.formats import TextFormat
from server.importer.presets import Preset, presets


def check_fit(
    name: str,
    columns: Sequence[str],
    format_: TextFormat,
    preset: Preset,
    mapping: ColumnMapping[Thing],
) -> None:
    """Raise CommandError where a preset's columns are not there, or those of an id.

    It names a preset that fits, also where none was chosen and the columns do not do without.
    """
    missing = mapping.missing(columns)
    if not missing:
        return
    fitting = preset_for(columns, format_)
    if preset.name:
        lacks = listed([*dict.fromkeys(repr(column) for _, column in missing)])
        instead = f"add `--preset {fitting}` instead" if fitting else "name its columns with --map"
        raise CommandError(
            f"{name} does not fit --preset {preset.name}: it has no {lacks}, only "
            f"{listed(columns)}; {instead}."
        )
    if fitting:
        raise CommandError(
            f"{name} has no column {missing[0][1]!r} for {missing[0][0]}, but those of an export "
            f"that is known: add `--preset {fitting}`."
        )
    if absent := [column for _, column in missing if column in mapping.id_from]:
        raise CommandError(f"{name} has no {absent[0]!r} for --id-from, only {listed(columns)}.")


def preset_for(columns: Sequence[str], format_: TextFormat) -> str | None:
    """Return the preset that reads a file with these columns, the one that knows most of them."""
    fitting = [
        preset
        for preset in presets().values()
        if preset.format == format_ and _fits(preset, columns)
    ]
    best = max(fitting, key=lambda one: len(one.known() & {*columns}), default=None)
    return None if best is None else best.name


def _fits(preset: Preset, columns: Sequence[str]) -> bool:
    kind = FILE_KINDS[preset.kind or "comments"]
    return not make_column_mapping(kind, [], [], preset).missing(columns)


def preset_by_root(head: bytes) -> str | None:
    """Return the preset of XML whose outermost element stands in the first bytes of a file."""
    for preset in presets().values():
        if preset.row is not None and f"<{preset.row.partition('/')[0]}".encode() in head:
            return preset.name
    return None
