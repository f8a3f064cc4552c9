"""Where an export goes: its files, its manifest, and the folder in which it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from server.errors import CommandError
from server.exporter.rows import ExportKind, Format

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Target:
    """The files of an export by kind; ``draft`` stands beside them until they are whole."""

    format: Format
    files: Mapping[ExportKind, Path]
    manifest: Path
    draft: Path

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.manifest.parent

    @property
    def assembled(self) -> bool:
        """Whether all files are whole in the draft, and perhaps some of them in their place."""
        return self.made(self.manifest).exists()

    def made(self, path: Path) -> Path:
        """Return where one of the files, or the manifest, is made."""
        return self.draft / f"whole.{path.name}"

    def check_absent(self) -> None:
        """Raise CommandError when one of the files is there already."""
        for path in (*self.files.values(), self.manifest):
            if path.exists():
                raise CommandError(
                    f"{path} exists: name another output, or add --force to replace it."
                )


def single_file(path: Path, kind: ExportKind, written_in: Format) -> Target:
    """Return the target of one kind in a file of any name."""
    manifest = path.with_name(f"{path.name}.{_MANIFEST}")
    return Target(written_in, {kind: path}, manifest, path.with_name(f"{path.name}.partial"))


def directory_of(path: Path, kinds: Sequence[ExportKind], written_in: Format) -> Target:
    """Return the target of some kinds in a directory, a file each by the name of the kind."""
    files = {kind: path / f"{kind}.{written_in}" for kind in kinds}
    return Target(written_in, files, path / _MANIFEST, path / "export.partial")
