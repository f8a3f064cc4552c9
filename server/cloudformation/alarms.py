"""The alarms: which figures of CloudWatch call somebody, and what that person does."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dal.table.index import Index
from server.cloudformation.permissions import SERVE

_SERVED = "!If [OwnTable, !Ref Table, !Ref ServedTable]"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of CloudWatch; ``dimensions`` are YAML."""

    namespace: str
    name: str
    dimensions: dict[str, str]
    stat: str = "Sum"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Rings when the sum of some figures is above ``threshold`` in each of ``periods``."""

    name: str
    means: str
    advice: str
    metrics: Sequence[Metric]
    threshold: int = 0
    period: int = 300
    """Seconds."""
    periods: int = 1
    condition: str | None = field(default=None)
    """The template's condition under which there is one."""


def alarms(indexes: Sequence[Index]) -> list[Alarm]:
    """Return the alarms of the table with these indexes, of the function and of the servers."""
    return [*_of_table(indexes), *_of_function(), *_of_servers()]


def _of_table(indexes: Sequence[Index]) -> list[Alarm]:
    names = dict.fromkeys(one.name for one in indexes if one.name is not None and not one.local)
    places = [{}, *({"GlobalSecondaryIndexName": name} for name in names)]
    throttled = [
        Alarm(
            f"Throttled{kind}s",
            f"{kind}s that DynamoDB refused; an index that throttles holds up the table, too.",
            f"DynamoDB throttles {kind.lower()}s; see docs/amazon.md.",
            [_dynamodb(f"{kind}ThrottleEvents", **place) for place in places],
            threshold=10,
        )
        for kind in ("Read", "Write")
    ]
    operations = [*SERVE.table, "TransactWriteItems"]
    known = [one for one in operations if one not in {"ConditionCheckItem", "DescribeTable"}]
    return [
        *throttled,
        Alarm(
            "SystemErrors",
            "Faults of DynamoDB itself; what meets one is tried again.",
            "DynamoDB answers with faults of its own; look at the AWS Health Dashboard.",
            [_dynamodb("SystemErrors", Operation=name) for name in known],
            threshold=10,
        ),
    ]


def _dynamodb(name: str, **dimensions: str) -> Metric:
    return Metric("AWS/DynamoDB", name, {"TableName": _SERVED, **dimensions})


def _of_function() -> list[Alarm]:
    def figure(name: str, stat: str = "Sum") -> list[Metric]:
        return [Metric("AWS/Lambda", name, {"FunctionName": "!Ref Function"}, stat)]

    lost = Metric(
        "AWS/SQS",
        "ApproximateNumberOfMessagesVisible",
        {"QueueName": "!GetAtt LostChanges.QueueName"},
        "Maximum",
    )
    return [
        Alarm(
            "CountingErrors",
            "Deliveries that fail for a quarter of an hour, as all do while a rebuild runs.",
            "The function that counts fails; its log says why.",
            figure("Errors"),
            periods=3,
            condition="Counts",
        ),
        Alarm(
            "CountingThrottles",
            "Deliveries that wait as the account has no room for more functions at once.",
            "Lambda throttles the function that counts; raise the account's limit of concurrency.",
            figure("Throttles"),
            periods=3,
            condition="Counts",
        ),
        Alarm(
            "CountingLag",
            "Counts that lag. After a day the stream forgets, and only a rebuild helps.",
            "Counts are ten minutes behind; look at the function's errors and throttled writes.",
            figure("IteratorAge", "Maximum"),
            threshold=600_000,
            condition="Counts",
        ),
        Alarm(
            "LostChanges",
            "Deliveries that were given up, as their records left the stream.",
            "Changes were not counted; run marginalia stats rebuild, then empty the queue.",
            [lost],
            condition="Counts",
        ),
    ]


def _of_servers() -> list[Alarm]:
    balancer = {"LoadBalancer": "!GetAtt LoadBalancer.LoadBalancerFullName"}
    targets = {**balancer, "TargetGroup": "!GetAtt Targets.TargetGroupFullName"}
    return [
        Alarm(
            "ServerErrors",
            "Answers 5xx: of the servers, and of the load balancer where none answers.",
            "Servers fail; their log says why, a line each.",
            [
                Metric("AWS/ApplicationELB", name, balancer)
                for name in ("HTTPCode_Target_5XX_Count", "HTTPCode_ELB_5XX_Count")
            ],
            threshold=20,
            condition="Serves",
        ),
        Alarm(
            "ServersNotReady",
            "Servers that cannot use their table, or do not answer.",
            "Servers are not ready; ask one for /health/ready, which says why in a sentence.",
            [Metric("AWS/ApplicationELB", "UnHealthyHostCount", targets, "Maximum")],
            period=60,
            periods=5,
            condition="Serves",
        ),
    ]
