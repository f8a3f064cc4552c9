"""The sentence that clients read about groups."""

from types import SimpleNamespace
from typing import Any

import pytest

from dal.query.errors import TooManySegmentsError
from features.groups.model import ProductGroup
from resolvers import product_sets


def test_the_sentence_about_too_many_reads_names_groups() -> None:
    reads = SimpleNamespace(left=1)
    info: Any = SimpleNamespace(context=SimpleNamespace(part=lambda _: reads))
    with pytest.raises(TooManySegmentsError) as caught:
        product_sets.product_ids(ProductGroup("g", ("1", "2")), info)
    assert str(caught.value) == (
        "The lists and statistics of groups would read more than 250 partitions: select fewer "
        "groups at a time."
    )
