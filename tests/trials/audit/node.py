"""Programs of this package that run on Node, whose output is JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def ran(script: str, *arguments: str) -> Any:
    """Return what a script of this directory prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", HERE / script, *arguments],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)
