"""The stack's EventBridge pipe sends changes of comments in the form of docs/events.md."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import comment_key
from dal.model import Comment
from dal.stores import Stores
from features.stream_counting.streams import Streams
from tests.deploy.template import load, resources
from tests.docs.markdown import fences
from tests.engines import ROOT
from tests.fakes import anybody
from tests.features.stream_counting.records import all_records

PAGE = (ROOT / "docs/events.md").read_text("utf-8")
(EVENT,) = [json.loads(one.text) for one in fences(PAGE) if one.language == "json"]
"""The documented event."""

TEA = Comment(
    "c1", "tea", "ann", 5, "en", "Tea", "Good", datetime(2026, 11, 20, 12, 0, 1, tzinfo=UTC)
)


def passes(pattern: Any, value: Any) -> bool:
    """Return whether an EventBridge pattern matches: objects by name, lists as alternatives."""
    if isinstance(
        pattern, Mapping
    ):  # EventBridge flattens both, so a missing parent is not an object
        inside = value if isinstance(value, Mapping) else {}
        return all(passes(inner, inside.get(name)) for name, inner in pattern.items())
    return any(_is(rule, value) for rule in pattern)


def _is(rule: Any, value: Any) -> bool:
    match rule:
        case {"prefix": prefix}:
            return isinstance(value, str) and value.startswith(prefix)
        case {"exists": exists}:
            return (value is not None) is exists
        case _:
            return bool(rule == value)


def through_the_pipe(records: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    source = resources()["Events"]["Properties"]["SourceParameters"]
    patterns = [json.loads(one["Pattern"]) for one in source["FilterCriteria"]["Filters"]]
    return (one for one in records if any(passes(pattern, one) for pattern in patterns))


async def test_every_change_of_a_comment_is_an_event_and_no_other_change_is(
    streamed: Table, streams: Streams
) -> None:
    stores = Stores(streamed)
    await stores.comments.add(TEA)
    for name in ("bob", "eve"):
        await stores.votes.mark("c1", name)
        await stores.folds.finish()
    await stores.comments.update("c1", {"rating": 2}, anybody)
    await stores.votes.mark("c1", "eve", helpful=False)
    await stores.folds.finish()
    await stores.comments.delete("c1", anybody)
    keyed = idempotency.comment_id("ann", "key")
    await stores.comments.add(TEA._replace(comment_id=keyed), "key")
    await stores.comments.delete(keyed, anybody)
    await streamed.write([{"Delete": {"Key": comment_key(keyed)}}])  # when its tombstone expires
    await stores.users.update_profile("ann", {"full_name": "Ann"})
    records = (await all_records(streamed, streams))[1]
    found = list(through_the_pipe(records))
    assert stores.folds.folded == 3
    folds = [one for one in records if one["dynamodb"].get("NewImage", {}).get("folded")]
    assert len(folds) == 3
    assert [changed(one) for one in found] == [
        ("INSERT", "does not exist", "exists"),
        ("MODIFY", "exists", "exists"),
        ("MODIFY", "exists", "does not exist"),
        ("INSERT", "does not exist", "exists"),
        ("MODIFY", "exists", "does not exist"),
    ]
    documented, added = EVENT["detail"], found[0]
    assert added.keys() <= documented.keys()
    assert documented["dynamodb"].keys() >= added["dynamodb"].keys()
    assert added["eventName"] == documented["eventName"]
    assert added["dynamodb"]["Keys"] == documented["dynamodb"]["Keys"]
    image = added["dynamodb"]["NewImage"]
    assert {name: one for name, one in image.items() if "GSI" not in name} == (
        documented["dynamodb"]["NewImage"]
    )


def changed(record: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a comment's change in the form of docs/events.md."""
    images = record["dynamodb"]
    before, after = (
        "exists" if "product" in images.get(name, {}) else "does not exist"
        for name in ("OldImage", "NewImage")
    )
    return record["eventName"], before, after


def test_the_pipe_has_only_the_rights_that_it_needs() -> None:
    (policy,) = resources()["EventsRole"]["Properties"]["Policies"]
    allowed = {
        action: one["Resource"]
        for one in policy["PolicyDocument"]["Statement"]
        for action in ([one["Action"]] if isinstance(one["Action"], str) else one["Action"])
    }
    stream = {"Ref": "EventStreamArn"}
    assert allowed == {
        "dynamodb:DescribeStream": stream,
        "dynamodb:GetRecords": stream,
        "dynamodb:GetShardIterator": stream,
        "dynamodb:ListStreams": stream,
        "events:PutEvents": {"Ref": "EventBusArn"},
        "sqs:SendMessage": {"GetAtt": "LostEvents.Arn"},
    }


def test_the_pipe_is_off_unless_a_bus_is_named() -> None:
    for name in ("Events", "EventsRole", "LostEvents", "LostEventsAlarm"):
        assert resources()[name]["Condition"] == "SendsEvents"


def test_a_change_before_the_pipe_reads_a_new_stream_is_an_event() -> None:
    """A rebuild in mode stream creates a new stream. The pipe begins to read it later."""
    source = resources()["Events"]["Properties"]["SourceParameters"]["DynamoDBStreamParameters"]
    assert source["StartingPosition"] == "TRIM_HORIZON"
    assert source["MaximumRetryAttempts"] == source["MaximumRecordAgeInSeconds"] == -1


def test_the_rule_of_the_webhook_matches_the_documented_event() -> None:
    rule = load("deploy/webhook.yaml")["Resources"]["Rule"]["Properties"]
    target = resources()["Events"]["Properties"]["TargetParameters"][
        "EventBridgeEventBusParameters"
    ]
    assert (EVENT["source"], EVENT["detail-type"]) == (target["Source"], target["DetailType"])
    pattern = rule["EventPattern"]
    (_, of_slack, _) = pattern["detail"]["If"]
    assert passes(pattern | {"detail": of_slack}, EVENT)
    (_, transformer, _) = rule["Targets"][0]["InputTransformer"]["If"]
    message = transformer["InputTemplate"]
    for name, path in transformer["InputPathsMap"].items():
        value: Any = EVENT
        for part in path.removeprefix("$.").split("."):
            value = value[part]
        message = message.replace(f"<{name}>", value)
    assert json.loads(message) == {"text": "A comment on tea in en: 5 of 5 stars"}
