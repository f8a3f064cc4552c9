"""``serve --check`` with manifests and registered documents."""

from dataclasses import replace
from pathlib import Path

from dal.dynamodb.table import Table
from features.trusted_documents.registration import documents_finding, manifests_finding
from server import checks
from server.findings import Level
from server.services import schema_of
from server.settings import Settings


async def test_a_manifest_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    settings = Settings(documents=(Path("absent.json"),), data_dir=tmp_path)
    found = {one.subject: one async for one in checks.findings(settings)}
    assert found["manifests"].level is Level.DANGER
    assert "absent.json" in found["manifests"].sentence


async def test_a_server_of_trusted_documents_without_any_is_reported(
    table: Table, tmp_path: Path
) -> None:
    assert (await documents_finding(Settings(), table)).level is Level.OK
    only = Settings(documents_only=True)
    assert (await documents_finding(only, table)).level is Level.DANGER
    manifest = tmp_path / "known.json"
    given = replace(only, documents=(manifest,))
    for text, level in (
        ('{"a": "{ __typename }"}', Level.OK),
        ('{"a": "{ no }"}', Level.DANGER),
        ("[", Level.DANGER),
    ):
        manifest.write_text(text)
        assert (await documents_finding(given, table)).level is Level.OK
        assert manifests_finding(given, schema_of(given)).level is level
