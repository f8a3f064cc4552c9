"""Fills the analytics store by an export of all comments."""

import tempfile
from datetime import datetime
from pathlib import Path

from dal.analytics.store import Export
from dal.client.scan import Progress
from server.analytics.asking import open_analytics
from server.engine.storage import Store
from server.errors import CommandError
from server.exporter.export_files import export
from server.exporter.manifest import directory_of
from server.settings import Settings


async def refresh(settings: Settings, store: Store, seen: Progress) -> Export:
    """Export all comments, then let that export count at once for all questions."""
    analytics = await open_analytics(settings)
    try:
        with _room(settings.data_dir) as folder:
            target = directory_of(Path(folder), ["comments"], "parquet")
            manifest = await export(store.table, target, store.place, seen)
            began = datetime.fromisoformat(manifest.begun)
            return await analytics.fill(target.files["comments"], began)
    finally:
        await analytics.close()


def _room(data_dir: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder on the disk of the data, for an export that is deleted afterwards."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="analytics-export-", dir=data_dir)
    except OSError as error:
        raise CommandError(
            f"{data_dir} cannot be written ({error.strerror}): name another --data-dir."
        ) from error
