"""Refuses wheels: what they would hold is only part of what runs, under names that others use."""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_REFUSED = (
    "Marginalia is not installed from a wheel: its packages have names such as schema and server, "
    "and npm brings the storage engine and GraphiQL. Use the image (see Dockerfile), or a clone "
    "with `make setup`."
)


class Refusal(BuildHookInterface):  # type: ignore[type-arg]
    """Lets a clone be installed in place, and the image and the function be filled."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's
        """End with a sentence for all other builds."""
        if version != "editable" and not os.environ.get("MARGINALIA_IMAGE"):
            sys.exit(_REFUSED)
