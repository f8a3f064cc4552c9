"""The report, the page and the picture of an outcome."""

from xml.etree import ElementTree as ET

import pytest

from server.errors import CommandError
from tests.tools.bench.outcomes import outcome, sample
from tools.bench.report import page
from tools.bench.speed import tables
from tools.bench.speed.growth import exponent
from tools.bench.speed.tables import picture

PAGE = "# Speed\n\n<!-- speed -->\nold\n<!-- end of speed -->\n\nThe end.\n"


def test_a_figure_is_the_median_of_the_rounds_with_their_range() -> None:
    first, second, third = tables.sections(outcome())[0].rows
    assert first[:6] == [
        "First <page>",
        "16",
        "Marginalia",
        "0.80 (0.70-0.90)",
        "0.50",
        "125 (111-143)",
    ]
    assert first[-3:] == ["1.00", "1.500", "300"]
    assert second[:4] == ["", "", "Yoga", "1.60 (1.50-1.70)"]
    assert third[0] == "HTML page"


def test_wrong_answers_are_counted_and_reported() -> None:
    measured = outcome()
    assert tables.wrong(measured) == 0
    measured.samples.append(sample("yoga", "first", 1.6, wrong=2))
    assert tables.wrong(measured) == 2
    assert tables.sections(measured)[0].rows[1][-1] == "400, 2 wrong"
    assert "2 were wrong" in tables.summary(measured)


def test_a_page_gets_tables_between_its_marks_and_keeps_the_rest() -> None:
    made = page(PAGE, "speed", tables.sections(outcome()), ["A note."])
    assert made.startswith("# Speed\n\n<!-- speed -->\n**A page")
    assert made.endswith("\nA note.\n<!-- end of speed -->\n\nThe end.\n")
    assert "old" not in made
    assert "|  |  | Yoga | 1.60 (1.50-1.70) |" in made
    assert page(made, "speed", tables.sections(outcome()), ["A note."]) == made


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(CommandError, match="<!-- growth -->"):
        page(PAGE, "growth", [], [])


def test_the_picture_has_a_bar_for_each_server_of_loads_that_can_be_compared() -> None:
    root = ET.fromstring(picture(outcome(), 16, "marginalia"))
    name = "{http://www.w3.org/2000/svg}"
    ours, theirs = root.findall(f"{name}rect")
    assert float(theirs.attrib["width"]) == pytest.approx(2 * float(ours.attrib["width"]), rel=0.01)
    assert ours.attrib["fill"] != theirs.attrib["fill"]
    assert [text.text for text in root.findall(f"{name}text")][1:] == [
        "First <page>",
        *("Marginalia", "0.80"),
        *("Yoga", "1.60"),
    ]


def test_the_exponent_of_what_stays_the_same_is_0_and_of_what_doubles_with_the_size_1() -> None:
    assert exponent([10, 100, 1000], [3, 3, 3]) == pytest.approx(0)
    assert exponent([10, 20, 40], [1, 2, 4]) == pytest.approx(1)
