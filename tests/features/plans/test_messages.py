"""The sentences of the plans: the reasons of alternatives, and refused commands."""

from pathlib import Path

import pytest

from features.plans.reasons import Reason, ReasonCode, ReasonValue
from tests.server.serving import called


@pytest.mark.parametrize(
    ("code", "named", "sentence"),
    [
        ("ONLY_INDEX", (), "The only index that can answer this query."),
        ("LEAST_BY_COUNTS", (), "Lowest cost, estimated from the counts."),
        (
            "LEAST_BY_LOCATIONS",
            (),
            "Lowest cost, estimated from the row locations of earlier reads.",
        ),
        ("NOTHING_TO_READ", (), "There is nothing to read."),
        (
            "NOTHING_TO_WEIGH",
            (),
            "One key range contains exactly these rows, so no other index is compared.",
        ),
        ("NOTHING_KNOWN", (), "Without statistics: this index covers the most filters."),
        ("MORE_RANGES", (8, 2), "More expensive: 8 key ranges instead of 2."),
        (
            "MORE_ROWS",
            (36, ("rating",)),
            "More expensive: about 36 rows would be read and then dropped by the filter on rating.",
        ),
        ("UNWEIGHED_ROWS", ("all",), "Not compared: this index covers fewer filters than all."),
        (
            "UNWEIGHED_RANGES",
            ("all",),
            "Not compared: this index needs at least as many key ranges as all.",
        ),
        (
            "DIVIDED",
            (("language", "rating"),),
            (
                "The keys of the index contain language and rating, which the query does not "
                "filter by."
            ),
        ),
        (
            "HOLDS_OTHERS",
            ("status", ["PLACED"]),
            "The index contains only rows whose status is PLACED.",
        ),
        ("LACKS", (["order"],), "The rows of the index do not contain order."),
        (
            "LAGS",
            (),
            "The index is eventually consistent, but this query needs a consistent read.",
        ),
        ("TOO_MANY_RANGES", (64, 60), "This index needs 64 key ranges; the maximum is 60."),
    ],
)
def test_a_reason_has_a_sentence(code: str, named: tuple[ReasonValue, ...], sentence: str) -> None:
    assert str(Reason(ReasonCode[code], named)) == sentence


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("explain 42 --rating 7", "marginalia: --rating is 7; it must be from 1 to 5."),
        ("explain 42 --first 1 --last 1", "marginalia: Pass first or last, not both."),
        (
            "explain 42 --after x",
            (
                "marginalia: after: The cursor does not belong to this list: pass an edge's "
                "cursor back unchanged, or pass no cursor to start at the beginning."
            ),
        ),
    ],
)
def test_a_command_is_refused(
    command: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    assert called(*command.split(), **nothing).stderr.splitlines()[-1] == sentence
