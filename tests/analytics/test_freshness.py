"""Up to when an answer surely has everything: never later than what is kept."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from analytics.change_log import goes_on
from analytics.store import Base, Following, State

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
BASE = Base(BEGAN, "base", 3, "s")
RUN = Following("r", "s", BEGAN - HOUR, BEGAN + HOUR)


@pytest.mark.parametrize(
    ("state", "as_of", "changed"),
    [
        (State(), None, False),
        (State(following=RUN), None, False),
        (State(BASE), BEGAN, False),
        (State(BASE, RUN), BEGAN + HOUR, True),
        (State(BASE, replace(RUN, caught_up=BEGAN)), BEGAN, True),
        (State(BASE, replace(RUN, caught_up=BEGAN - HOUR / 2)), BEGAN, False),
        (State(BASE, replace(RUN, stream="another")), BEGAN, False),
        (State(replace(BASE, stream=None), RUN), BEGAN, False),
        # What was changed between the export and the beginning of the run is in neither.
        (State(BASE, replace(RUN, began=BEGAN + HOUR / 2)), BEGAN, False),
    ],
)
def test_changes_count_from_when_they_reach_beyond_the_export(
    state: State, as_of: datetime | None, *, changed: bool
) -> None:
    assert (state.as_of, state.changed) == (as_of, changed)


def test_a_run_goes_on_while_the_stream_has_what_follows_it() -> None:
    assert goes_on(RUN, "s", RUN.caught_up + 23 * HOUR)
    assert not goes_on(RUN, "s", RUN.caught_up + 24 * HOUR)
    assert not goes_on(RUN, "another", RUN.caught_up)
