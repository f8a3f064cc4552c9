"""docs/access-patterns.md lists every access pattern."""

from dal.composition import ACCESS_PATTERNS
from tests.integration.access_patterns_page import PAGE, page, pattern_of
from tests.integration.patterns import EXAMPLES


def test_the_page_of_access_patterns_is_up_to_date() -> None:
    written = PAGE.read_text("utf-8")
    assert written == page(written), "run `make docs`"
    assert all(f"| **{name}** |" in written for name in EXAMPLES)


def test_every_access_pattern_has_an_example_and_no_other() -> None:
    names = [pattern.name for pattern in ACCESS_PATTERNS]
    assert {pattern_of(name) for name in EXAMPLES} == set(names)
    assert len(names) == len(set(names))
