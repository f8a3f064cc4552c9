"""The template: a deployment on AWS as CloudFormation takes it, made from the one declaration."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from dal.entities.declared import EVERY, INDEXES
from dal.table.definition import table_definition
from dal.table.index import EXPIRES
from dal.table.streams import WHOLE_IMAGES
from server.cloudformation.alarms import alarms
from server.cloudformation.permissions import ROLES, Permissions

_TEMPLATE = Path(__file__).with_name("template.yaml")


@dataclass(frozen=True, slots=True)
class Function:
    """The function that counts, and how the stream is delivered to it."""

    handler: str = "stream.lambda_handler.handler"
    runtime: str = "python3.13"
    timeout: int = 120
    """Seconds: a batch is six transactions or so, and each may wait ten for a busy table."""
    batch: int = 500
    """Records of a delivery at most."""
    filter: dict[str, Any] = field(
        default_factory=lambda: {"dynamodb": {"Keys": {"PK": {"S": [{"prefix": "COMMENT#"}]}}}}
    )


def cloudformation() -> str:
    """Return the template as YAML."""
    environment = Environment(  # noqa: S701 - it is no HTML
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    return environment.from_string(_TEMPLATE.read_text()).render(
        table=table_definition("", EVERY),
        everywhere=_names(table_definition("", INDEXES)),
        expires=EXPIRES,
        stream_view=WHOLE_IMAGES["StreamViewType"],
        roles=ROLES,
        statements=_statements,
        function=Function(),
        alarms=alarms(EVERY),
        flow=json.dumps,
    )


def _names(definition: Mapping[str, Any]) -> set[str]:
    """Return the names of a table's indexes, and of the attributes that are keys."""
    indexes = (*definition["LocalSecondaryIndexes"], *definition["GlobalSecondaryIndexes"])
    attributes = {one["AttributeName"] for one in definition["AttributeDefinitions"]}
    return attributes | {one["IndexName"] for one in indexes}


def _statements(role: Permissions) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the actions of a role by kind of resource, with the end of that one's ARN."""
    kinds = ((role.table, ""), (role.indexes, "/index/*"), (role.stream, "/stream/*"))
    return ((tuple(sorted(actions)), end) for actions, end in kinds if actions)
