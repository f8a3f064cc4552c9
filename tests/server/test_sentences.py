"""Words of the sentences that commands print."""

import pytest

from server.sentences import series


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b, and c"),
    ],
)
def test_parts_are_joined_to_a_series(parts: list[str], text: str) -> None:
    assert series(parts) == text
