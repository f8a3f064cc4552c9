"""docs/scaling.md computes requests a second from the figures of docs/speed.md."""

from tests.engines import ROOT


def rows(page: str) -> list[list[str]]:
    """Return the cells of all tables of a page."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def test_a_core_serves_as_many_requests_as_the_measured_cpu_allows() -> None:
    measured = [(row[0], row[2].split()[0]) for row in rows("speed.md") if row[1] == "Marginalia"]
    shown = rows("scaling.md")
    (start,) = [place for place, row in enumerate(shown) if row[:2] == ["request", "CPU ms"]]
    table = shown[start + 1 :]
    assert [(name, cpu) for name, cpu, *_ in table] == [
        one for one in measured if one[0] in {name for name, *_ in table}
    ]
    for _, cpu, full, part in table:
        assert full == f"{1000 // float(cpu):,.0f}"
        assert part == f"{600 // float(cpu):,.0f}"
