"""What pages say of plans is what the API says, in each language."""

import pytest

from dal.query.trace import Reason, ReasonCode, SegmentStatistics
from dal.table.ranges import UNBOUNDED, Range
from server.pages import i18n, plan_words

_SEVERAL = ("language", "rating")


def _told(reason: Reason) -> str:
    return plan_words.reason({"reasonCode": reason.code.name, "reasonValues": reason.values})


@pytest.mark.parametrize("code", ReasonCode)
def test_a_reason_is_the_apis_own_in_english_and_whole_in_each_language(code: ReasonCode) -> None:
    places = code.value.count("{}")
    reason = Reason(code, (1200, _SEVERAL, "byLang", 60)[:places])
    assert _told(reason) == str(reason).replace("1200", "1,200")
    for tag in i18n.LOCALES.keys() - {i18n.SOURCE}:
        with i18n.speaking(tag):
            told = _told(reason)
        assert told != _told(reason)
        assert [name in told for name in ("language", "byLang", "60")] == [
            places > least for least in (1, 2, 3)
        ]


def test_values_are_texts_and_several_names_are_one() -> None:
    assert Reason(ReasonCode.MORE_OF_BOTH, (3, 1, 25, _SEVERAL)).values == [
        *"31",
        "25",
        "language, rating",
    ]


@pytest.mark.parametrize("sort_keys", [UNBOUNDED, Range(low="b", high="a")])
def test_why_a_key_range_was_skipped_is_a_message(sort_keys: Range) -> None:
    segment = SegmentStatistics("P#1", sort_keys, 20, skipped=True)
    assert segment.skip_reason in plan_words.SKIPPED
    with i18n.speaking("de"):
        told = plan_words.skip_reason({"skipReason": segment.skip_reason})
    assert told not in {None, segment.skip_reason}
    assert plan_words.skip_reason({"skipReason": None}) is None


def test_a_caption_leaves_out_what_did_not_happen() -> None:
    counts = {"shown": 1, "filtered": 0, "around": 0}
    assert plan_words.caption(counts, 1, []) == "1 row read: 1 shown."
    counts = {"shown": 20, "filtered": 4, "around": 1}
    told = "25 rows read: 20 shown, 1 read ahead and 4 dropped by language and rating."
    assert plan_words.caption(counts, 25, _SEVERAL) == told
