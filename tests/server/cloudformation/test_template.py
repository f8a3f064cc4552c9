"""What the template makes is what the code reads, writes and expects."""

from typing import Any

import pytest
import yaml

from dal.entities.comment import comment_key
from dal.entities.declared import EVERY, INDEXES
from dal.entities.order import order_key
from dal.table.definition import table_definition
from dal.table.index import EXPIRES, Index
from dal.table.item import Item
from dal.table.streams import WHOLE_IMAGES
from server.cloudformation.permissions import ROLES
from server.cloudformation.template import cloudformation
from tests.engines import ROOT

Resource = dict[str, Any]


class Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms, ``!Ref Table``, as ``{"Ref": "Table"}``."""


def _short_form(loader: Loader, name: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


Loader.add_multi_constructor("!", _short_form)


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    made: dict[str, Any] = yaml.load(cloudformation(), Loader)
    return made


@pytest.fixture(scope="module")
def resources(template: dict[str, Any]) -> dict[str, Resource]:
    found: dict[str, Resource] = template["Resources"]
    return found


def test_the_file_is_what_the_declaration_makes() -> None:
    stored = (ROOT / "deploy/cloudformation.yaml").read_text("utf-8")
    assert stored == cloudformation(), "run `make docs` and commit it"


def chosen(parts: Any, conditions: set[str]) -> Any:
    """What CloudFormation makes of a list under these conditions."""
    if not isinstance(parts, list):
        return parts
    given = [
        one["If"][1 if one["If"][0] in conditions else 2] if "If" in one else one for one in parts
    ]
    return [one for one in given if one != {"Ref": "AWS::NoValue"}]


@pytest.mark.parametrize(
    ("conditions", "indexes"), [(set[str](), INDEXES), ({"ListsAuthors"}, EVERY)]
)
def test_the_table_is_the_declared_one(
    resources: dict[str, Resource], conditions: set[str], indexes: tuple[Index, ...]
) -> None:
    made, declared = resources["Table"]["Properties"], table_definition("", indexes)
    for part in declared.keys() - {"TableName"}:
        assert chosen(made[part], conditions) == declared[part]
    assert made["TimeToLiveSpecification"] == {"AttributeName": EXPIRES, "Enabled": True}
    stream = {"StreamEnabled": True, **made["StreamSpecification"]}
    assert stream == WHOLE_IMAGES
    assert made["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert made["DeletionProtectionEnabled"] is True
    assert resources["Table"]["DeletionPolicy"] == "Retain"


def test_each_role_may_do_what_it_does_on_this_table_alone(resources: dict[str, Resource]) -> None:
    for role in ROLES:
        document = resources[f"{role.name}Policy"]["Properties"]["PolicyDocument"]
        ends = {"": role.table, "/index/*": role.indexes, "/stream/*": role.stream}
        found = {}
        for statement in document["Statement"]:
            arn, names = statement["Resource"]["Sub"]
            assert names == {"Name": {"If": ["OwnTable", {"Ref": "Table"}, {"Ref": "ServedTable"}]}}
            found[arn.partition("${Name}")[2]] = statement["Action"]
        assert found == {
            end: sorted(f"dynamodb:{action}" for action in actions)
            for end, actions in ends.items()
            if actions
        }


def test_the_stream_is_delivered_as_the_function_expects(resources: dict[str, Resource]) -> None:
    mapping = resources["Mapping"]["Properties"]
    assert mapping["MaximumRetryAttempts"] == mapping["MaximumRecordAgeInSeconds"] == -1
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert not mapping.keys() & {"TumblingWindowInSeconds", "FunctionResponseTypes"}
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"GetAtt": "LostChanges.Arn"}
    assert resources["Function"]["Properties"]["Timeout"] >= 60


def test_the_function_is_where_the_template_says(resources: dict[str, Resource]) -> None:
    module, _, name = resources["Function"]["Properties"]["Handler"].rpartition(".")
    assert callable(getattr(pytest.importorskip(module), name))


def test_the_filter_lets_comments_through_alone(resources: dict[str, Resource]) -> None:
    (one,) = resources["Mapping"]["Properties"]["FilterCriteria"]["Filters"]
    (rule,) = yaml.safe_load(one["Pattern"])["dynamodb"]["Keys"]["PK"]["S"]

    def passes(key: Item) -> bool:
        return str(key["PK"]["S"]).startswith(rule["prefix"])

    assert passes(comment_key("c#1"))
    assert not passes(order_key("ann", "1"))


def test_an_alarm_sums_what_cloudwatch_lets_it(resources: dict[str, Resource]) -> None:
    alarms = [one for one in resources.values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) > 5
    for alarm in alarms:
        figures = [one for one in alarm["Properties"]["Metrics"] if "MetricStat" in one]
        assert 0 < len(figures) <= 10


def test_every_global_index_is_watched(resources: dict[str, Resource]) -> None:
    declared = {one.name for one in EVERY if one.name is not None and not one.local}
    for name in ("ThrottledReadsAlarm", "ThrottledWritesAlarm"):
        watched = {
            dimension["Value"]
            for one in resources[name]["Properties"]["Metrics"]
            if "MetricStat" in one
            for dimension in one["MetricStat"]["Metric"]["Dimensions"]
            if dimension["Name"] == "GlobalSecondaryIndexName"
        }
        assert watched == declared


def test_the_parameters_need_nothing_but_a_name(template: dict[str, Any]) -> None:
    assert all("Default" in one for one in template["Parameters"].values())
