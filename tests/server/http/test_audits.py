"""The quick part of `make trial NAME=audit`, on real servers."""

from collections.abc import Iterator

import pytest

from tests.server.serving import served
from tools.trials.audit import graphql_cop, programs


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("audit")) as server:
        yield server.url


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("audit"), "--no-introspection") as server:
        yield server.url


def test_every_audit_of_graphql_over_http_passes(shown: str) -> None:
    found = programs.graphql_http(shown)
    assert len(found) > 60
    assert [finding for finding in found if not finding.holds] == []


def test_graphql_cop_reports_only_expected_findings(shown: str) -> None:
    found = graphql_cop.findings(shown)
    assert [finding for finding in found if not finding.holds] == []


def test_graphql_cop_finds_nothing_about_a_hidden_schema(hidden: str) -> None:
    found = graphql_cop.findings(hidden, introspection=False)
    assert [finding for finding in found if not finding.holds] == []
