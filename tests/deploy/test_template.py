"""What the template makes is what the code reads, writes and expects."""

import pytest
import yaml

from dal.client.streams import WHOLE_IMAGES
from dal.entities import INDEXES
from dal.entities.comment import comment_key
from dal.entities.order import order_key
from dal.table.definition import table_definition
from dal.table.index import EXPIRES
from dal.table.items import Item
from tests.deploy.template import policies, resources, template


def test_the_table_is_the_declared_one() -> None:
    made, declared = resources()["Table"]["Properties"], table_definition("", INDEXES)
    for part in declared.keys() - {"TableName"}:
        assert made[part] == declared[part]
    assert made["TimeToLiveSpecification"] == {"AttributeName": EXPIRES, "Enabled": True}
    stream = {"StreamEnabled": True, **made["StreamSpecification"]}
    assert stream == WHOLE_IMAGES
    assert made["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert made["DeletionProtectionEnabled"] is True
    assert resources()["Table"]["DeletionPolicy"] == "Retain"


def test_policies_are_about_this_table_alone() -> None:
    for name in policies():
        document = resources()[f"{name}Policy"]["Properties"]["PolicyDocument"]
        for statement in document["Statement"]:
            arn, names = statement["Resource"]["Sub"]
            assert ":table/${Name}" in arn
            assert names == {"Name": {"If": ["OwnTable", {"Ref": "Table"}, {"Ref": "ServedTable"}]}}


def test_the_stream_is_delivered_as_the_function_expects() -> None:
    mapping = resources()["Mapping"]["Properties"]
    assert mapping["MaximumRetryAttempts"] == mapping["MaximumRecordAgeInSeconds"] == -1
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert not mapping.keys() & {"TumblingWindowInSeconds", "FunctionResponseTypes"}
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"GetAtt": "LostChanges.Arn"}
    assert resources()["Function"]["Properties"]["Timeout"] >= 60


def test_the_function_is_where_the_template_says() -> None:
    module, _, name = resources()["Function"]["Properties"]["Handler"].rpartition(".")
    assert callable(getattr(pytest.importorskip(module), name))


def test_the_filter_lets_comments_through_alone() -> None:
    (one,) = resources()["Mapping"]["Properties"]["FilterCriteria"]["Filters"]
    (rule,) = yaml.safe_load(one["Pattern"])["dynamodb"]["Keys"]["PK"]["S"]

    def passes(key: Item) -> bool:
        return str(key["PK"]["S"]).startswith(rule["prefix"])

    assert passes(comment_key("c#1"))
    assert not passes(order_key("ann", "1"))


def test_an_alarm_sums_what_cloudwatch_lets_it() -> None:
    alarms = [one for one in resources().values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) > 5
    for alarm in alarms:
        figures = [one for one in alarm["Properties"]["Metrics"] if "MetricStat" in one]
        assert 0 < len(figures) <= 10


def test_every_global_index_is_watched() -> None:
    declared = {one.name for one in INDEXES if one.name is not None and not one.local}
    for name in ("ThrottledReadsAlarm", "ThrottledWritesAlarm"):
        watched = {
            dimension["Value"]
            for one in resources()[name]["Properties"]["Metrics"]
            if "MetricStat" in one
            for dimension in one["MetricStat"]["Metric"]["Dimensions"]
            if dimension["Name"] == "GlobalSecondaryIndexName"
        }
        assert watched == declared


def test_the_parameters_need_nothing_but_a_name() -> None:
    assert all("Default" in one for one in template()["Parameters"].values())


def test_faults_of_every_operation_of_servers_are_watched() -> None:
    figures = resources()["SystemErrorsAlarm"]["Properties"]["Metrics"]
    watched = {
        dimension["Value"]
        for one in figures
        if "MetricStat" in one
        for dimension in one["MetricStat"]["Metric"]["Dimensions"]
        if dimension["Name"] == "Operation"
    }
    unknown = {"ConditionCheckItem", "DescribeTable"}  # to this figure of CloudWatch
    assert watched == policies()["Serve"][""] - unknown | {"TransactWriteItems"}
