"""The cold start of the Lambda function is measured in a new process."""

import asyncio
import re
import subprocess
import sys

from dal.dynamodb.table import Table
from tests.engines import ROOT
from tests.server.serving import AWS, environment


async def test_the_figures_of_a_cold_start_are_printed(table: Table) -> None:
    url = str(table.service.endpoint_url)
    settings = {"MARGINALIA_ENDPOINT_URL": url, "MARGINALIA_TABLE": table.name}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, ROOT / "tools/bench/cold_start.py", ROOT),
        env=environment(**settings, **AWS),
        stdout=subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    figures = re.findall(r"[\d.]+(?= (?:s|ms|MiB)\b)", said.decode())
    assert len(figures) == 4
    assert all(float(one) > 0 for one in figures)
