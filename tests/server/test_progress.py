import pytest

from server import progress
from server.progress import ProgressBar


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def shown(
    clock: Clock,
    capsys: pytest.CaptureFixture[str],
    total: int | None,
    steps: list[tuple[float, int]],
) -> list[str]:
    with ProgressBar("c.jsonl", total) as bar:
        for clock.now, done in steps:
            bar.update(done, f"{done} rows")
    return capsys.readouterr().err.splitlines()


def test_a_short_task_prints_no_progress(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(clock, capsys, 100, [(1, 10), (5, 50), (9.9, 100)]) == []


def test_progress_is_printed_every_ten_seconds_if_a_tenth_is_done(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [(10.0, 20), (12, 50), (20, 55), (21, 56), (30, 57), (31, 90)]
    assert shown(clock, capsys, 100, steps) == [
        "c.jsonl: 20%, 20 rows",
        "c.jsonl: 55%, 55 rows",
        "c.jsonl: 90%, 90 rows",
    ]


def test_an_estimate_that_was_exceeded_is_not_printed_as_the_total(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [(10.0, 50), (20.0, 557), (80.0, 600)]
    assert shown(clock, capsys, 100, steps) == ["c.jsonl: 50%, 50 rows", "c.jsonl: 600 rows"]


@pytest.mark.parametrize("total", [None, 1_000_000])
def test_a_long_task_prints_its_progress_every_minute(
    clock: Clock, capsys: pytest.CaptureFixture[str], total: int | None
) -> None:
    steps = [(second, int(second)) for second in range(1, 150)]
    prefix = "c.jsonl: " if total is None else "c.jsonl: 0%, "
    assert shown(clock, capsys, total, [(float(at), done) for at, done in steps]) == [
        f"{prefix}60 rows",
        f"{prefix}120 rows",
    ]
