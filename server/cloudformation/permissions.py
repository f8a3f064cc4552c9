"""What each command asks of AWS: the actions of IAM that its role needs, and no others.

TransactWriteItems is no action: each of its entries is allowed as the single write that it is. A
test runs every command, and fails where what it did and what is allowed here differ.
"""

from dataclasses import dataclass

_READ = ("DescribeTable", "GetItem", "Query")
_WRITE = ("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem")
_STREAM = ("DescribeStream", "GetRecords", "GetShardIterator")


@dataclass(frozen=True, slots=True)
class Permissions:
    """Actions of ``dynamodb`` on the table, on its indexes, and on its streams."""

    name: str
    """The policy's name in the template."""
    of: str
    """Who takes it."""
    table: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    stream: tuple[str, ...] = ()


SERVE = Permissions(
    "Serve",
    "marginalia serve and documents add",
    table=("BatchGetItem", "BatchWriteItem", *_READ, *_WRITE),
    indexes=("Query",),
)
LOAD = Permissions(
    "Load",
    "marginalia load",
    table=("BatchGetItem", "BatchWriteItem", *_READ, "PutItem", "UpdateItem"),
)
EXPORT = Permissions(
    "Export",
    "marginalia export and analytics refresh",
    table=("DescribeTable", "GetItem", "Query", "Scan"),
)
READ = Permissions(
    "Read",
    "marginalia explain and table describe",
    table=("DescribeTimeToLive", *_READ),
    indexes=("Query",),
)
COUNT = Permissions(
    "Count",
    "the Lambda function that counts",
    table=(*_READ, "PutItem", "UpdateItem"),
)
FOLLOW = Permissions(
    "Follow",
    "marginalia stats follow",
    table=("BatchGetItem", *COUNT.table),
    stream=_STREAM,
)
REBUILD = Permissions(
    "Rebuild",
    "marginalia stats rebuild and verify, which moves what is behind on leaderboards",
    table=("BatchGetItem", "BatchWriteItem", *_READ, *_WRITE, "Scan", "UpdateTable"),
    stream=_STREAM,
)
UPGRADE = Permissions(
    "Upgrade",
    "marginalia table create, upgrade and reshard",
    table=(
        "BatchGetItem",
        "BatchWriteItem",
        "CreateTable",
        "DeleteItem",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetItem",
        "PutItem",
        "Scan",
        "UpdateItem",
        "UpdateTable",
        "UpdateTimeToLive",
    ),
)

ROLES = (SERVE, LOAD, EXPORT, READ, COUNT, FOLLOW, REBUILD, UPGRADE)
