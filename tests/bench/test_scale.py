"""The simulation of DynamoDB's limits: what it is made of, and its plain answers."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from bench.scale import boards, demand, search
from bench.scale.buckets import Buckets, Limit
from bench.scale.demand import AFTER, BEFORE, CONFLICTS, INDEX, LIST, TABLE, demands
from bench.scale.findings import QUESTIONS, SHARDS, Effort, page_capacity
from bench.scale.requests import refused
from bench.scale.shop import Zipf, comments
from bench.scale.writers import Crowd, Simulation
from bench.speed.document import page

PRODUCT = {"product": frozenset({"p"})}


def test_a_bucket_gives_what_came_in_and_names_who_refused() -> None:
    slow, fast, buckets = Limit("slow", "", 10), Limit("fast", "", 100), Buckets()
    assert buckets.take(0.0, {slow: 1, fast: 1})
    assert not buckets.take(0.0, {fast: 1, slow: 1})
    assert buckets.refused == {"slow": 1}
    assert buckets.take(0.5, {slow: 5, fast: 9})
    assert not buckets.take(0.5, {slow: 1})


def test_ranks_follow_the_law() -> None:
    law, chance = Zipf(), random.Random(3)
    ranks = [law.rank(chance) for _ in range(20_000)]
    for rank in (1, 2, 10):
        assert ranks.count(rank) / len(ranks) == pytest.approx(law.share(rank), rel=0.15)
    assert sum(rank > 100_000 for rank in ranks) / len(ranks) == pytest.approx(0.276, rel=0.05)
    assert max(ranks) <= 10_000_000


def test_a_comment_asks_what_the_bill_says() -> None:
    """Two units a KB in a transaction: comment, record and counters; one for each index row."""
    (comment,) = (one for one, _ in zip(comments(random.Random(1)), range(1), strict=False))
    best = comment._replace(rating=5)
    asked = {way.name: demands(way, 1, [best], 0) for way in (BEFORE, AFTER)}

    def units(way: str, kind: str) -> float:
        return sum(units for limit, units in asked[way].items() if limit.kind == kind)

    assert [units(way, TABLE) for way in ("before", "after")] == [8, 4]
    assert [units(way, INDEX) for way in ("before", "after")] == [8, 4]
    assert units("after", LIST) == 4


def test_the_same_seed_tells_the_same() -> None:
    runs = [Simulation(Crowd(AFTER, 4), 300, 3, seed).run() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_servers_are_in_each_others_way_and_one_is_not() -> None:
    many, one = (Simulation(Crowd(BEFORE, servers), 200, 6, 1).run() for servers in (8, 1))
    assert not many.kept_up
    assert max(many.refused, key=many.refused.__getitem__) == CONFLICTS
    assert one.kept_up
    assert one.refused == {}
    spread = Crowd(replace(AFTER, counter_shards=8), 8)
    assert Simulation(spread, 200, 6, 1).run().kept_up


@pytest.mark.parametrize(("rate", "fits"), [(900, True), (1_200, False)])
def test_a_partition_takes_a_thousand_units(rate: float, *, fits: bool) -> None:
    limit = Limit(LIST, "", 1_000)
    found = refused(lambda _: {limit: 1}, rate, 4, seed=1)
    assert found == {} if fits else set(found) == {LIST}


def test_the_greatest_rate_is_found_with_what_refuses_beyond() -> None:
    found = search.greatest(lambda rate: None if rate < 700 else {"a": 1, "b": 5}, 5)
    assert found.limit == "b"
    assert 650 < found.rate < 700
    assert search.greatest(lambda rate: None if rate < 70 else {}, 5).limit == search.UNREFUSED


def test_a_board_keeps_up_with_one_product_and_not_with_a_crowd_of_them() -> None:
    assert boards.refused(2_000, 4, 1) is None
    assert boards.PACE in (boards.refused(2_000, 4, 1, law=Zipf()) or {})
    assert demand.BOARD in (boards.refused(2_000, 20, 1, law=Zipf()) or {})


def test_shards_cost_a_page_a_request_each() -> None:
    capacity = {shards: page_capacity(shards, PRODUCT) for shards in SHARDS}
    assert [len(one) for one in capacity.values()] == [1, 4, 16]
    spent = [sum(one) for one in capacity.values()]
    assert spent == sorted(spent)
    assert spent[0] < spent[1] < spent[2]


def test_the_page_of_docs_has_a_place_for_the_tables() -> None:
    text = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text("utf-8")
    assert "new" in page(text, "scale", [], ["new"])
    assert QUESTIONS > 0
    assert Effort().seconds(1_000) == 4
