"""Static files that browsers keep, asking each time by ETag whether they are still the same."""

import os
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ROOT = Path(__file__).parents[2]

FILE_HEADERS = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}


class RevalidatedFiles(StaticFiles):
    """Serves a directory's files with ``FILE_HEADERS``."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return the file, or 304 for a browser that has it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(FILE_HEADERS)
        return response
