"""Amazon DynamoDB as its documentation describes it, over an engine that is quick and consistent.

The engine stores, checks conditions and answers Queries. Before it stands what AWS documents and
emulators do not show: indexes that lag, partitions that throttle, streams that come late,
credentials that expire. All of it follows from a seed and from a clock that tests turn.
"""

from tests.amazon.service import Amazon, amazon_of, settle

__all__ = ["Amazon", "amazon_of", "settle"]
