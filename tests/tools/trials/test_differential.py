"""Random documents have the same responses compiled and with graphql-core."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Tables
from tools.trials.differential import compared

DOCUMENTS = 60


async def test_random_documents_have_equal_results_compiled_and_by_graphql_core(
    tables: Tables,
    dynoxide_url: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """`make trial NAME=differential` compares 10,000 documents."""
    both = [await tables.fresh(dynoxide_url) for _ in range(2)]
    counts, difference = await compared(DOCUMENTS, tmp_path, *both)
    record_property("compared", ", ".join(f"{n:,} {what}" for what, n in counts.items()))
    assert not difference
    del counts["errors in another order"]
    assert min(counts.values()) > DOCUMENTS / 20
