"""Ranges of languages, compared with the definition of RFC 4647."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langcodes.data_dicts import LANGUAGE_DISTANCES, MACROLANGUAGES

from dal.model import rules
from dal.model.languages import (
    coarser,
    disjoint_ranges,
    finds,
    language_of,
    locale_of,
    prefixes_of,
    ranges_of,
    tag_of,
)
from tests.oracle import found_by, tags


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("en", {"en", "en-US", "en-GB", "en-GB-oxendict"}),
        ("en-US", {"en-US"}),
        ("en-GB", {"en-GB", "en-GB-oxendict"}),
        ("zh", {"zh", "zh-TW", "zh-Hant", "zh-Hant-TW"}),
        ("zh-Hant", {"zh-Hant", "zh-Hant-TW"}),
        ("zh-TW", {"zh-TW"}),
        ("yue", {"yue", "yue-HK"}),
        ("e", set()),
        ("no", {"no", "nb", "nn", "no-NO", "nb-NO", "nn-NO"}),
        ("no-NO", {"no-NO", "nb-NO", "nn-NO"}),
        ("nb", {"no", "nb", "no-NO", "nb-NO"}),
        ("nb-NO", {"no-NO", "nb-NO"}),
        ("nn", {"nn", "nn-NO"}),
        ("nn-NO", {"nn-NO"}),
    ],
)
def test_a_range_finds_a_language_with_its_regions(asked: str, found: set[str]) -> None:
    stored = {"en", "en-US", "en-GB", "en-GB-oxendict", "enm", "zh", "zh-TW", "zh-Hant"}
    stored |= {"zh-Hant-TW", "yue", "yue-HK", "da", "no", "nb", "nn", "no-NO", "nb-NO", "nn-NO"}
    assert {tag for tag in stored if finds(disjoint_ranges([asked]), tag)} == found


@given(asked=st.lists(tags, max_size=6), tag=tags)
def test_ranges_find_the_tags_that_rfc_4647_defines(asked: list[str], tag: str) -> None:
    ranges = disjoint_ranges(asked)
    assert finds(ranges, tag) is any(found_by(one, tag) for one in asked)
    assert len(ranges & {*ranges_of(tag)}) <= 1, "no comment is found by two ranges"
    found = any(tag == one or tag.startswith(f"{one}-") for one in prefixes_of(asked))
    assert finds(ranges, tag) is found


@given(tag=tags)
def test_a_tag_is_found_by_itself_its_locale_and_its_language(tag: str) -> None:
    assert finds(disjoint_ranges([tag]), tag)
    assert language_of(tag) in ranges_of(tag)
    assert locale_of(tag) in {*ranges_of(tag), ""}
    assert coarser(ranges_of(tag)[-1]) == ranges_of(tag)
    assert all(disjoint_ranges([tag_of(one)]) == {one} for one in ranges_of(tag))


def test_norwegian_is_the_only_macrolanguage_that_cldr_matches_with_members() -> None:
    """The list of members must follow CLDR's data in langcodes."""

    def matched(member: str, macro: str) -> bool:
        pairs = ((member, macro), (macro, member))
        return all(LANGUAGE_DISTANCES.get(one, {}).get(other, 99) <= 20 for one, other in pairs)

    members = {
        member: macro
        for member, macro in MACROLANGUAGES.items()
        if rules.language("language", member) == member
        and rules.language("language", macro) == macro
        and matched(member, macro)
    }
    assert members == {"nb": "no", "nn": "no"}
    assert LANGUAGE_DISTANCES["nb"]["no"] == 1, "two names of one language"
    assert {one: language_of(one) for one in members} == members
