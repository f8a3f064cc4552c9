"""Refuses to build wheels, except for the container image and the Lambda function.

A wheel would lack the packages that npm installs. Marginalia's own packages have common names, such
as schema. Next to other packages in an environment, these names may clash.
"""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_REFUSED = (
    "Marginalia is not installed from a wheel: its packages have common names such as schema, and "
    "the wheel would lack the storage engine and GraphiQL, which npm installs. Use the image (see "
    "Dockerfile), or a clone with `make setup`."
)


class Refusal(BuildHookInterface):  # type: ignore[misc]  # only the build installs hatchling
    """Allows editable installs of a clone, and builds of the image and the Lambda function."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Exit with a message unless the build is editable or ``MARGINALIA_IMAGE`` is set."""
        if version != "editable" and not os.environ.get("MARGINALIA_IMAGE"):
            sys.exit(_REFUSED)
