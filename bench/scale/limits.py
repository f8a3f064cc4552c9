"""What Amazon documents of its limits, and what is assumed where it documents nothing.

Amazon's figures are of its developer guide: "Quotas", "Partitions and data distribution", "GSI
write throttling and back pressure", "Transactions", "Local secondary indexes", "Lambda".
"""

PARTITION_WCU = 1_000
PARTITION_RCU = 3_000
"""Units a second of one partition. A list by date grows at one end, so it cannot be split there."""

TABLE_UNITS = 40_000
"""Units a second of an on-demand table, and of each of its global indexes, until raised."""

COLLECTION_BYTES = 10 * 10**9
"""Of one partition key, where a table has local indexes; theirs included, global ones not."""

PARTITION_BYTES = 10 * 10**9
"""Of one partition. A stream has a shard for each."""

LAMBDA_POLLS = 4
"""Times a second that Lambda asks a shard which is not busy."""

LAMBDA_RECORDS = 1_000
"""The most that GetRecords answers."""

TRANSACTION_ACTIONS = 100

# --- Not documented: assumed, and worth measuring on a table of one's own ---

READ_SECONDS = 0.004
TRANSACTION_SECONDS = 0.012
"""Medians of a BatchGetItem and of a transaction. Another one on its items is refused so long."""

SPREAD = 0.3
"""Deviation of the logarithm of these times."""
