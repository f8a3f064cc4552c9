"""Lists of several products: their plans, and the maximum number of rows that a page drops."""

from dataclasses import replace

import pytest

from dal.entities.comment import COMMENT
from dal.model import Comment
from dal.query.errors import TooManySegmentsError
from dal.query.pagination import Slice
from dal.query.plan import PlanBasis
from dal.repositories.comments import Selection
from tests import oracle
from tests.dal.known import KnownProduct


def of_variants(count: int, rows: int) -> tuple[list[Comment], Selection]:
    """Return the comments of ``count`` variants, and a selection of all variants."""
    names = [f"variant-{number:02}" for number in range(count)]
    data = [
        comment._replace(text="x" * 300)
        for seed, name in enumerate(names)
        for comment in oracle.make_comments(name, rows, seed=seed)
    ]
    return data, Selection(names[0], variants=frozenset(names))


async def test_three_ratings_of_thirty_variants_are_read_from_the_index_of_all_ratings() -> None:
    data, group = of_variants(30, 12)
    some = replace(group, ratings=frozenset({1, 4, 5}))
    page = await KnownProduct(COMMENT, data).read(some.query(), Slice(20, next_page=True))
    assert page.nodes == oracle.selected(data, some)[:20]
    assert (page.stats.index, page.stats.residual) == ("all", ["rating"])


@pytest.mark.parametrize("plan_by", [None, PlanBasis.NOTHING, PlanBasis.FULL_PAGES])
async def test_a_filter_of_too_many_partitions_that_few_rows_pass_is_refused(
    monkeypatch: pytest.MonkeyPatch, plan_by: PlanBasis | None
) -> None:
    data, group = of_variants(21, 60)
    absent = replace(group, languages=frozenset({"xx", "yy", "zz"}))
    known = KnownProduct(COMMENT, data)
    assert (await known.read(absent.query(), Slice(20, plan_by=plan_by))).nodes == []
    monkeypatch.setattr("dal.query.optimizer.MAX_DROPPED", 20)
    for cut in (Slice(20, plan_by=plan_by), Slice(20, next_page=True, before="9")):
        with pytest.raises(TooManySegmentsError, match="63 partitions"):
            await known.read(absent.query(), cut)
