"""``deploy/cloudformation.yaml`` and other CloudFormation templates, parsed."""

from functools import cache
from typing import Any

import yaml

from tests.engines import ROOT

Resource = dict[str, Any]


class Loader(yaml.SafeLoader):
    """A YAML loader that reads CloudFormation's short form ``!Ref Table`` as ``{"Ref":
    "Table"}``.
    """


def _short_form(loader: Loader, name: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


Loader.add_multi_constructor("!", _short_form)


@cache
def load(path: str) -> dict[str, Any]:
    made: dict[str, Any] = yaml.load((ROOT / path).read_text(), Loader)
    return made


def template() -> dict[str, Any]:
    return load("deploy/cloudformation.yaml")


def resources() -> dict[str, Resource]:
    found: dict[str, Resource] = template()["Resources"]
    return found


def of_type(end: str) -> list[Resource]:
    """Return the resources whose type ends with ``end``."""
    return [one for one in resources().values() if one["Type"].endswith(end)]


def sums_up(alarm: Resource) -> bool:
    """Return whether an alarm combines several metrics."""
    return len(alarm["Properties"].get("Metrics", ())) > 1


def policies() -> dict[str, dict[str, set[str]]]:
    """Return the DynamoDB actions that each role may execute.

    The keys are the role and the end of the resource's ARN.
    """
    found = {}
    for name, resource in resources().items():
        if resource["Type"] == "AWS::IAM::ManagedPolicy":
            statements = resource["Properties"]["PolicyDocument"]["Statement"]
            found[name.removesuffix("Policy")] = {
                one["Resource"]["Sub"][0].partition("${Name}")[2]: {
                    action.removeprefix("dynamodb:") for action in one["Action"]
                }
                for one in statements
            }
    return found
