"""A fake of Amazon DynamoDB in front of an engine, which behaves as AWS documents.

The engine stores, checks conditions and answers Queries. The fake adds what AWS documents and
emulators lack: indexes that lag, partitions that throttle, late streams, and credentials that
expire. All of it depends on a seed, and on a clock that tests control.
"""

from tests.amazon.service import Amazon, amazon_of, settle

__all__ = ["Amazon", "amazon_of", "settle"]
