"""SIGHUP while a manifest is invalid."""

import signal
from pathlib import Path

from tests.server.serving import served
from tests.server.workers.processes import another, logged, workers_of


async def test_if_a_manifest_is_invalid_the_old_workers_continue(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    valid, invalid = '{"one": "{ __typename }"}', '{"one": "{ noSuchField }"}'
    manifest.write_text(valid)
    options = ("--workers", "2", "--documents", str(manifest))
    with served(tmp_path / "data", *options) as server:
        before = workers_of(server)
        manifest.write_text(invalid)
        server.process.send_signal(signal.SIGHUP)
        await logged(server, "0 of 2 workers were replaced")
        assert workers_of(server) == before

        victim, other = before
        victim.kill()
        await logged(server, "A worker has ended (exit code 3): starting it again in 2 s.")
        manifest.write_text(valid)
        await another(server, victim, 2)
        assert other.is_running()
