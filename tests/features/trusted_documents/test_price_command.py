"""``marginalia documents price``: tables, JSON, budgets and comparisons."""

import json
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from features.trusted_documents.pricing import READ_PRICE
from tests.server.serving import called
from tools.bench.prices import PRICES, read_prices

PAGE = """query Page($id: ID!, $n: Int) { product(productId: $id) {
    comments(first: $n) { nodes { id text } } } }"""
STATISTICS = "query Statistics { product(productId: 1) { statistics { total } } }"


def file(directory: Path, name: str, content: object) -> Path:
    path = directory / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def price(*arguments: str | Path, **variables: Any) -> CompletedProcess[str]:
    given = ["--variables", json.dumps(variables)] if variables else []
    return called("documents", "price", *arguments, *given)


def prices(*arguments: str | Path, **variables: Any) -> Mapping[str, dict[str, Any]]:
    """Return each operation in the JSON of the command, by its title."""
    outcome = price("--json", *arguments, **variables)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return {one["operation"]: one for one in json.loads(outcome.stdout)["operations"]}


def test_each_operation_has_a_price(tmp_path: Path) -> None:
    manifest = file(tmp_path, "relay.json", {"page": PAGE, "s": STATISTICS})
    table = price(manifest, n=20)
    assert (table.returncode, table.stderr) == (0, "")
    assert all(
        cell in table.stdout for cell in ("query Page", "query Statistics", "220.0", "27.50")
    )
    page = prices(manifest, n=20)["query Page"]
    assert page["warm"] == {"requests": 2, "rcu": 220.0, "values": 62, "usd": 27.5}
    assert page["cold"] == {"requests": 7, "rcu": 446.0, "values": 62, "usd": 55.75}
    assert (page["document"], page["variables"], page["wcu"]) == ("page", {"n": 20}, 0)
    worst = prices(manifest)["query Page"]
    assert worst["variables"] == {"n": 100}
    assert worst["warm"]["values"] == 302


def test_variables_are_read_from_a_file(tmp_path: Path) -> None:
    given = file(tmp_path, "variables.json", {"n": 1})
    page = file(tmp_path, "page.graphql", PAGE)
    assert prices(page, "--variables", given) == prices(page, n=1) != prices(page)


def test_each_operation_of_a_graphql_file_is_a_document(tmp_path: Path) -> None:
    """Together, the operations exceed the limits of a document. Fragments are in another file."""
    aliases = " ".join(f"a{number}: id" for number in range(20))
    texts = [
        f"query Q{number} {{ product(productId: 1) {{ {aliases} ...F }} }}" for number in (1, 2)
    ]
    some = file(tmp_path, "some.graphql", "\n".join([*texts, "mutation M { __typename }"]))
    fragment = file(tmp_path, "fragment.gql", "fragment F on Product { lastCommentedAt }")
    found = prices(some, fragment)
    assert found.keys() == {"query Q1", "query Q2", "mutation M"}
    assert found["query Q1"]["warm"]["requests"] == 1
    assert {one["document"] for one in found.values()} == {str(some)}
    assert found["mutation M"]["wcu"] is None


def test_a_price_above_the_budget_fails(tmp_path: Path) -> None:
    manifest = file(tmp_path, "relay.json", {"page": PAGE, "s": STATISTICS})
    assert price(manifest, "--max-rcu", "446", "--max-usd", "55.75", n=20).returncode == 0
    for option, budget, figure in (("--max-rcu", "445", "446"), ("--max-usd", "55.7", "55.75")):
        over = price(manifest, option, budget, n=20)
        assert over.returncode == 1
        assert "query Page" in over.stdout
        assert over.stderr.count(".") <= over.stderr.count("(page)") + 2
        assert "query Page (page)" in over.stderr
        assert figure in over.stderr
        assert "Statistics" not in over.stderr
        assert price(manifest, option, "nan", n=20).returncode == 1


def test_the_price_of_read_units_is_an_option(tmp_path: Path) -> None:
    assert read_prices(PRICES).read_units == READ_PRICE
    page = file(tmp_path, "page.graphql", PAGE)
    assert prices(page, "--read-price", "1", n=20)["query Page"]["warm"]["usd"] == 220


def test_a_dearer_operation_fails(tmp_path: Path) -> None:
    """Compilers change the id of a changed document, so operations are compared by name."""
    old = file(tmp_path, "old.json", {"1": PAGE, "gone": "query Gone { nothing }"})
    more = PAGE.replace("nodes {", "totalCount nodes {")
    new = file(tmp_path, "new.json", {"1": PAGE, "2": more, "3": STATISTICS})
    assert price(old, "--against", old).returncode == 2
    same = price(file(tmp_path, "same.json", {"9": PAGE}), "--against", old)
    assert same.returncode == 0
    assert "'gone'" in same.stderr
    dearer = price(new, "--against", old, n=20)
    assert dearer.returncode == 1
    assert "query Page (2)" in dearer.stderr
    assert "query Page (1)" not in dearer.stderr
    assert "Statistics" not in dearer.stderr
    compared = json.loads(price(new, "--json", "--against", old, n=20).stdout)["operations"]
    assert [one["rcuAgainst"] for one in compared] == [446, 446, None]
    allowed = price(new, "--against", old, "--max-increase", "500", n=20)
    assert allowed.returncode == 0
    assert "query Page (2)" in allowed.stdout


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.json", "{", ()),
        ("a.json", {}, ()),
        ("a.json", {"a": "{ nothing }"}, ()),
        ("a.json", {"a": "fragment F on Query { __typename }"}, ()),
        ("a.graphql", "{", ()),
        ("a.graphql", "fragment F on Query { __typename }", ()),
        ("a.graphql", "query A { ...Missing }", ()),
        ("a.graphql", "{ __typename } { openOrders { nodes { id } } }", ()),
        ("a.graphql", PAGE, ("--variables", "{")),
        ("a.graphql", PAGE, ("--variables", "missing.json")),
        ("a.graphql", PAGE, ("--variables", '{"a":' * 50_000)),
        ("a.graphql", PAGE, ("--variables", '{"unknown": 1}')),
        ("a.graphql", PAGE, ("--variables", '{"n": "many"}')),
        ("a.graphql", PAGE, ("--variables", '{"id": null}')),
        ("a.graphql", PAGE, ("--read-price", "-1")),
        ("a.graphql", PAGE, ("--against", "missing.json")),
        ("a.graphql", PAGE, ("--max-rcu", "-1")),
        ("a.graphql", PAGE, ("--max-usd", "much")),
        ("a.graphql", PAGE, ("missing.graphql",)),
    ],
)
def test_wrong_input_is_refused(
    tmp_path: Path, name: str, content: object, options: tuple[str, ...]
) -> None:
    outcome = price(file(tmp_path, name, content), *options)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "Traceback" not in outcome.stderr


def test_an_operation_that_the_server_refuses_is_named(tmp_path: Path) -> None:
    few = "query Few($n: Int) { leaderboard(first: $n) { nodes { product { lastCommentedAt } } } }"
    many = few.replace("Few", "Many").replace("lastC", "a: lastCommentedAt b: lastC")
    many = many.replace("a: last", "c: lastCommentedAt a: last")
    path = file(tmp_path, "many.graphql", f"{few} {many}")
    found = prices(path)
    assert found["query Few"]["refusal"] is None
    assert found["query Many"]["refusal"] is not None
    assert str(found["query Many"]["refusal"]) in price(path).stdout
    assert prices(path, n=20)["query Many"]["refusal"] is None
