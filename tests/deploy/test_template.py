"""The template's resources agree with what the code reads, writes and expects."""

import json
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from fnmatch import fnmatchcase
from io import StringIO
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml
from graphql import GraphQLError

from dal.counts.deferred import ONE_SECONDS
from dal.dynamodb.errors import StoreUnavailableError, ThrottledError
from dal.dynamodb.retries import FailureLog
from dal.entities import INDEXES
from dal.entities.comment import comment_key
from dal.entities.order import order_key
from dal.table.definition import table_definition
from dal.table.errors import DalError, StoreRefusedError
from dal.table.index import EXPIRES
from dal.table.items import Item
from features.stream_counting.streams import WHOLE_IMAGES
from schema.execution.errors import log_faults
from server.logs import log_handler
from server.option import Option, option_name, variable_name
from server.settings import Settings
from tests.deploy.template import of_type, policies, resources, sums_up, template
from tests.docs.test_reference import variables
from tests.engines import ROOT


def test_the_table_is_the_declared_one() -> None:
    made, declared = resources()["Table"]["Properties"], table_definition("", INDEXES)
    indexes = [
        {name: value for name, value in one.items() if name != "OnDemandThroughput"}
        for one in made["GlobalSecondaryIndexes"]
    ]
    assert indexes == declared["GlobalSecondaryIndexes"]
    for part in declared.keys() - {"TableName", "GlobalSecondaryIndexes"}:
        assert made[part] == declared[part]
    assert made["TimeToLiveSpecification"] == {"AttributeName": EXPIRES, "Enabled": True}
    stream = {"StreamEnabled": True, **made["StreamSpecification"]}
    assert stream == WHOLE_IMAGES
    assert made["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert made["DeletionProtectionEnabled"] is True
    assert resources()["Table"]["DeletionPolicy"] == "Retain"


def test_policies_allow_this_table_only() -> None:
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
    # Many records share one write of their counters.
    assert mapping["MaximumBatchingWindowInSeconds"] > 0
    assert not mapping.keys() & {"TumblingWindowInSeconds", "FunctionResponseTypes"}
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"GetAtt": "LostChanges.Arn"}
    assert resources()["Function"]["Properties"]["Timeout"] >= 60


@pytest.mark.parametrize("function", ["Function", "GraphQL"])
def test_the_templates_handler_is_the_function(function: str) -> None:
    module, _, name = resources()[function]["Properties"]["Handler"].rpartition(".")
    assert callable(getattr(pytest.importorskip(module), name))


def test_the_functions_can_be_imported_without_the_packages_that_the_makefile_removes() -> None:
    removed = re.findall(
        r"rm -r build/function/package/(\w+) ", (ROOT / "Makefile").read_text("utf-8")
    )
    assert removed == ["zstandard"]
    modules = [
        one["Properties"]["Handler"].rpartition(".")[0] for one in of_type("Lambda::Function")
    ]
    code = f"import sys; sys.modules |= dict.fromkeys({removed}); import {', '.join(modules)}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_function_for_graphql_has_the_settings_of_servers_that_concern_it() -> None:
    function = resources()["GraphQL"]["Properties"]
    given = function["Environment"]["Variables"]
    # The handler sets these variables, or they concern pages, proxies or several processes.
    not_given = {"AWS", "WORKERS", "TRUSTED_PROXY", "ALLOWED_HOST", "SIGN_IN_CLIENT_ID"}
    servers = {one for one in environment() if one.startswith("MARGINALIA_")}
    assert given.keys() == (servers - {f"MARGINALIA_{one}" for one in not_given}) | {
        "MARGINALIA_JWT_SECRET",
        "MARGINALIA_FUNCTION_VARIABLES",
    }
    assert all(given[one] == environment()[one] for one in given if one in servers)
    condition, secret, none = given["MARGINALIA_JWT_SECRET"]["If"]
    assert (condition, none) == ("HasSecret", "")
    assert secret == {"Sub": "{{resolve:secretsmanager:${JwtSecretArn}}}"}
    assert function["Timeout"] > Settings().deadline + ONE_SECONDS
    assert function["ReservedConcurrentExecutions"] == {"Ref": "GraphQLConcurrency"}


def test_the_function_for_graphql_has_the_rights_of_servers() -> None:
    of_function, of_servers = (
        resources()[one]["Properties"]["ManagedPolicyArns"] for one in ("GraphQLRole", "ServerRole")
    )
    assert of_function == of_servers


def test_every_client_may_call_the_function_url_and_only_that() -> None:
    made = [one["Properties"] for one in of_type("Lambda::Permission")]
    assert {one["Action"] for one in made} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    for one in made:
        assert one.get("FunctionUrlAuthType") == "NONE" or one["InvokedViaFunctionUrl"] is True
    url = resources()["GraphQLUrl"]["Properties"]
    assert url == {"AuthType": "NONE", "TargetFunctionArn": {"Ref": "GraphQL"}}


def test_the_function_for_graphql_needs_a_package_and_a_key() -> None:
    function = {"GraphQLFunction": "yes", "FunctionBucket": "b", "JwtSecretArn": "arn:2"}
    assert accepts(**function)
    for missing in function.keys() - {"GraphQLFunction"}:
        rest = {name: value for name, value in function.items() if name != missing}
        assert not accepts(**rest), missing
    issuer = {"JwtIssuer": "https://login.shop.example", "JwtAudience": "shop"}
    assert accepts(GraphQLFunction="yes", FunctionBucket="b", **issuer)
    assert not accepts(StreamArn="arn:3")


def test_the_filter_selects_only_comments() -> None:
    (one,) = resources()["Mapping"]["Properties"]["FilterCriteria"]["Filters"]
    (rule,) = yaml.safe_load(one["Pattern"])["dynamodb"]["Keys"]["PK"]["S"]

    def passes(key: Item) -> bool:
        return str(key["PK"]["S"]).startswith(rule["prefix"])

    assert passes(comment_key("c#1"))
    assert not passes(order_key("ann", "1"))


def test_no_alarm_sums_more_metrics_than_cloudwatch_allows() -> None:
    sums = [one["Properties"]["Metrics"] for one in of_type("CloudWatch::Alarm") if sums_up(one)]
    assert sums
    for metrics in sums:
        figures = [one for one in metrics if "MetricStat" in one]
        assert 1 < len(figures) <= 10


def test_every_fault_that_readiness_ignores_has_an_alarm() -> None:
    watched = {
        one["Properties"]["MetricName"]
        for one in of_type("CloudWatch::Alarm")
        if "MetricName" in one["Properties"]
    }
    assert "TransactionConflict" in watched


def logged(record: Callable[[], None]) -> list[dict[str, Any]]:
    """Return the lines of the log in JSON that ``record`` causes."""
    text = StringIO()
    handler, root = log_handler("json", text), logging.getLogger()
    root.addHandler(handler)
    try:
        record()
    finally:
        root.removeHandler(handler)
    return [json.loads(line) for line in text.getvalue().splitlines()]


def matches(pattern: str, line: dict[str, Any]) -> bool:
    """Return whether a line of the log matches a filter pattern of CloudWatch."""
    terms = re.findall(r'\(\$\.(\w+) (!?=) "([^"]*)"\)', pattern)
    found = [
        name in line and fnmatchcase(line[name], value) is (sign == "=")
        for name, sign, value in terms
    ]
    assert len(found) == 2
    return any(found) if " || " in pattern else all(found)


def test_failures_that_graphql_answers_with_status_200_ring() -> None:
    """Readiness and the load balancer's metrics do not show them."""
    filters = [one["Properties"] for one in of_type("Logs::MetricFilter")]
    alarm = resources()["FailuresAlarm"]["Properties"]

    def counted(lines: list[dict[str, Any]]) -> int:
        (line,) = lines
        shown = [one for one in filters if matches(one["FilterPattern"], line)]
        transformations = [made for one in shown for made in one["MetricTransformations"]]
        for made in transformations:
            assert made["MetricName"] == alarm["MetricName"]
            assert made["MetricNamespace"] == alarm["Namespace"]
        return sum(int(made["MetricValue"]) for made in transformations)

    def failure(error: DalError) -> int:
        return counted(logged(lambda: FailureLog().note("query", error, 1)))

    bug = GraphQLError("", original_error=RuntimeError("a bug"))
    assert counted(logged(lambda: log_faults([bug], {}))) > alarm["Threshold"]
    assert counted(logged(lambda: logging.getLogger("x").warning("a warning"))) == 0
    assert failure(ThrottledError("busy")) == 0  # It has alarms of its own.
    assert failure(StoreUnavailableError("away")) == failure(StoreRefusedError("denied")) == 1
    # A failure is logged at most once a second, so an outage reaches the threshold in a minute.
    assert alarm["Threshold"] < alarm["Period"] / 5
    assert alarm["EvaluationPeriods"] == 1


def test_the_template_is_small_enough_to_be_sent_without_a_bucket() -> None:
    """CloudFormation accepts at most 51,200 bytes of a template in a request."""
    assert (ROOT / "deploy/cloudformation.yaml").stat().st_size < 51_200


def test_an_update_does_not_change_the_number_of_servers() -> None:
    scaled = {
        one["Properties"]["ScalableDimension"] for one in of_type("AutoScaling::ScalableTarget")
    }
    assert scaled == {"ecs:service:DesiredCount"}
    assert all("DesiredCount" not in one["Properties"] for one in of_type("ECS::Service"))


def test_load_balancer_and_image_check_liveness_and_not_readiness() -> None:
    """Both checks replace failed servers. ``/health/ready`` may fail on all servers at once."""
    (targets,) = of_type("ElasticLoadBalancingV2::TargetGroup")
    assert targets["Properties"]["HealthCheckPath"] == "/health/live"
    image = (ROOT / "Dockerfile").read_text("utf-8")
    assert "/health/live" in image
    assert "/health/ready" not in image


@pytest.mark.parametrize("encrypted", [True, False])
def test_no_two_listeners_have_the_same_port(encrypted: bool) -> None:
    """CloudFormation creates new resources before it deletes old ones, so ports must differ."""
    listeners = of_type("ElasticLoadBalancingV2::Listener")
    ports = [one["Properties"]["Port"] for one in listeners]
    assert all(isinstance(port, int) for port in ports), "a port that depends on a condition"
    assert sorted(ports) == [80, 443]
    plain, tls = sorted(listeners, key=lambda one: int(one["Properties"]["Port"]))
    assert (plain["Condition"], tls["Condition"]) == ("Serves", "ServesEncrypted")
    actions = {
        port: [chosen(each, encrypted)["Type"] for each in one["Properties"]["DefaultActions"]]
        for port, one in ((80, plain), (443, tls))
    }
    assert actions == {80: ["redirect" if encrypted else "forward"], 443: ["forward"]}
    # The service is created after the listener that forwards to it, a redirect after its target.
    forwards = {"Ref": "HttpsListener" if encrypted else "HttpListener"}
    assert chosen(resources()["Service"]["Metadata"]["After"], encrypted) == forwards
    after = chosen(resources()["HttpListener"]["Metadata"]["After"], encrypted)
    assert after == (forwards if encrypted else "")


def chosen(value: Any, condition: bool) -> Any:
    """Return a branch of ``!If``, or any other value unchanged."""
    if isinstance(value, dict) and "If" in value:
        _, yes, no = value["If"]
        return yes if condition else no
    return value


def environment() -> dict[str, Any]:
    """Return the environment variables of a server's container."""
    (container,) = resources()["Task"]["Properties"]["ContainerDefinitions"]
    return {one["Name"]: one["Value"] for one in container["Environment"]}


def test_servers_trust_proxies_in_private_networks() -> None:
    value = environment()["MARGINALIA_TRUSTED_PROXY"]
    assert chosen(value, True) == {"Ref": "VpcCidr"}
    trusted = [ip_network(one) for one in chosen(value, False).split()]
    for address in ("10.1.2.3", "172.31.0.9", "192.168.3.4", "100.64.8.1"):
        assert any(ip_address(address) in network for network in trusted)
    assert not any(ip_address("8.8.8.8") in network for network in trusted)


def test_servers_receive_every_setting_for_sign_in() -> None:
    (container,) = resources()["Task"]["Properties"]["ContainerDefinitions"]
    asked, secrets = environment(), [one["If"] for one in container["Secrets"]]
    assert {name for name in asked if name.startswith("MARGINALIA_")} <= variables()
    given = {name: value["Ref"] for name, value in asked.items() if "Ref" in value} | {
        each["Name"]: each["ValueFrom"]["Ref"] for _, each, _ in secrets
    }
    expected = {}
    for setting in fields(Settings):
        option: Option = setting.metadata["option"]
        if option.panel == "Authentication":
            parameter = setting.name.title().replace("_", "") + "Arn" * option.secret
            expected[variable_name(option_name(setting))] = parameter
    assert expected.items() <= given.items()
    # ECS starts a task only if its execution role may read each secret.
    (rights,) = resources()["StartRole"]["Properties"]["Policies"]
    (statement,) = rights["If"][1]["PolicyDocument"]["Statement"]
    assert statement["Resource"] == [
        {"If": [condition, each["ValueFrom"], none]} for condition, each, none in secrets
    ]
    needed = [{"Condition": condition} for condition, _, _ in secrets]
    assert template()["Conditions"][rights["If"][0]] == {"Or": needed}


def holds(formula: Any, parameters: dict[str, str]) -> bool:
    """Return whether the formula of a rule is true for the parameters."""
    ((function, operands),) = formula.items()
    match function:
        case "Equals":
            one, other = operands
            return parameters[one["Ref"]] == str(other)
        case "Not":
            return not holds(operands[0], parameters)
        case "And":
            return all(holds(one, parameters) for one in operands)
        case "Or":
            return any(holds(one, parameters) for one in operands)
        case "EachMemberEquals":
            one, other = operands
            return all(member == other for member in parameters[one["Ref"]].split(","))
    raise ValueError(function)


def accepts(**given: str) -> bool:
    """Return whether the template's rules allow these parameters."""
    assert given.keys() <= template()["Parameters"].keys()
    parameters = {
        name: given.get(name, str(one["Default"])) for name, one in template()["Parameters"].items()
    }
    return all(
        holds(each["Assert"], parameters)
        for rule in template()["Rules"].values()
        if holds(rule["RuleCondition"], parameters)
        for each in rule["Assertions"]
    )


def test_sign_in_on_pages_requires_a_client_an_issuer_and_both_secrets() -> None:
    """Every task verifies the sessions that other tasks have signed, so all tasks share
    one secret.
    """
    issuer = {"JwtIssuer": "https://login.shop.example", "JwtAudience": "shop"}
    client = {"SignInClientId": "pages", "SignInClientSecretArn": "arn:1", "JwtSecretArn": "arn:2"}
    assert accepts()
    assert accepts(**issuer)
    assert accepts(JwtSecretArn="arn:2")
    assert accepts(**issuer, **client)
    assert not accepts(**client)
    for missing in client:
        rest = {name: value for name, value in client.items() if name != missing}
        assert not accepts(**issuer, **rest), missing


SERVERS = {
    "Image": "marginalia:1",
    "JwtSecretArn": "arn:1",
    "VpcId": "vpc-1",
    "Subnets": "subnet-1,subnet-2",
}
"""The parameters that a stack with servers needs."""


def test_servers_need_a_network_and_a_key_that_verifies_jwts() -> None:
    """Otherwise the stack would fail at its first load balancer, or nobody could sign in."""
    assert accepts(**SERVERS)
    for missing in SERVERS.keys() - {"Image"}:
        rest = {name: value for name, value in SERVERS.items() if name != missing}
        assert not accepts(**rest), missing
    rest = {name: value for name, value in SERVERS.items() if name != "JwtSecretArn"}
    assert accepts(**rest, JwtIssuer="https://login.shop.example", JwtAudience="shop")
    assert accepts(**rest, JwksUrl="https://login.shop.example/keys")


def test_a_certificate_requires_the_address_that_it_is_for() -> None:
    """Servers refuse hosts that they do not know: status 421."""
    assert not accepts(CertificateArn="arn:3", **SERVERS)
    assert accepts(CertificateArn="arn:3", PublicUrl="https://comments.shop.example", **SERVERS)


def overrides(page: str) -> list[dict[str, str]]:
    """Return the parameters that each command of a page of the documentation sets in the stack."""
    text = (ROOT / "docs" / page).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "--template-file deploy/cloudformation" in line]
    given = [shlex.split(one.partition("--parameter-overrides")[2]) for one in lines]
    return [dict(word.split("=", 1) for word in words) for words in given]


@pytest.mark.parametrize("page", ["amazon.md", "events.md"])
def test_the_stack_accepts_the_documented_parameters(page: str) -> None:
    found = overrides(page)
    assert found
    for given in found:
        assert accepts(**given), given


def test_the_documented_stack_with_servers_has_a_certificate_and_its_address() -> None:
    (given,) = [one for one in overrides("amazon.md") if "Image" in one]
    assert {*SERVERS, "CertificateArn", "PublicUrl"} == given.keys()


def test_the_variables_of_the_stack_are_given_to_the_images_command() -> None:
    """ECS cannot split a parameter into variables, but ``env`` can set them."""
    (container,) = resources()["Task"]["Properties"]["ContainerDefinitions"]
    condition, command, usual = container["Command"]["If"]
    assert usual == {"Ref": "AWS::NoValue"}
    separator, joined = command["Split"]
    wanted = "MARGINALIA_DOCUMENTS_ONLY=true,MARGINALIA_PICTURE_ORIGIN=https://a.example https://b.example"
    words = joined["Sub"].replace("${Variables}", wanted).split(separator)
    (line,) = re.findall(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert words == ["env", *wanted.split(","), *json.loads(line)]
    pattern = re.compile(template()["Parameters"]["Variables"]["AllowedPattern"], re.ASCII)
    assert all(map(pattern.fullmatch, ["", wanted, "A=", "A=b=c"]))
    # ``env`` would execute a word without ``=`` instead of the server.
    assert not any(map(pattern.fullmatch, ["A", "A=1,B", "A=1,", "A=1, B=2", "=1"]))
    assert not holds(template()["Conditions"][condition], {"Variables": ""})
    assert holds(template()["Conditions"][condition], {"Variables": wanted})


def test_limits_of_throughput_are_set_together() -> None:
    """DynamoDB refuses a limit of 0. CloudFormation refuses -1, which would remove the limit."""
    assert accepts(MaxReadUnits="100", MaxWriteUnits="50")
    assert not accepts(MaxReadUnits="100")
    assert not accepts(MaxWriteUnits="50")
    caps = template()["Conditions"]["Caps"]
    assert not holds(caps, {"MaxReadUnits": "0"})
    assert holds(caps, {"MaxReadUnits": "100"})


def test_a_limit_of_throughput_applies_to_the_table_and_each_index() -> None:
    made = resources()["Table"]["Properties"]
    units = {"MaxReadRequestUnits": "MaxReadUnits", "MaxWriteRequestUnits": "MaxWriteUnits"}
    limit = {name: {"Ref": parameter} for name, parameter in units.items()}
    for one in [made, *made["GlobalSecondaryIndexes"]]:
        assert one["OnDemandThroughput"] == {"If": ["Caps", limit, {"Ref": "AWS::NoValue"}]}


@pytest.mark.parametrize(
    ("alarm", "metric"),
    [
        ("ThrottledReads", "ReadThrottleEvents"),
        ("ThrottledWrites", "WriteThrottleEvents"),
        ("SystemErrors", "SystemErrors"),
    ],
)
def test_alarms_watch_the_table_with_every_index_and_operation(alarm: str, metric: str) -> None:
    """A metrics query by TableName also includes the metrics of its indexes and operations.

    A sum of metrics would have to name each of them, and CloudWatch allows ten metrics in a sum.
    """
    (figure,) = resources()[f"{alarm}Alarm"]["Properties"]["Metrics"]
    query, names = figure["Expression"]["Sub"]
    assert query == f"SELECT SUM({metric}) FROM \"AWS/DynamoDB\" WHERE TableName = '${{Name}}'"
    assert names == {"Name": {"If": ["OwnTable", {"Ref": "Table"}, {"Ref": "ServedTable"}]}}


def test_every_parameter_has_a_default() -> None:
    assert all("Default" in one for one in template()["Parameters"].values())
