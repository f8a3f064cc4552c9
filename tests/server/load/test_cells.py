import pytest

from dal.errors import InvalidArgumentError
from server.load import cells


@pytest.mark.parametrize("cell", [5, 5.0, "5", "5.0", " 5 ", "+5", "05"])
def test_a_rating_is_a_whole_number_however_it_is_written(cell: object) -> None:
    assert cells.rating("rating", cell) == 5


@pytest.mark.parametrize(
    "cell", [True, 4.5, "4.5", "five", "", "5e0", [5], 1e300, "\u0665", "9" * 20]
)
def test_anything_else_is_no_rating(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match="it must be a whole number from 1 to 5"):
        cells.rating("rating", cell)


@pytest.mark.parametrize("cell", [0, 6, -1, "9"])
def test_an_unknown_rating_is_named(cell: object) -> None:
    with pytest.raises(InvalidArgumentError, match=f"rating is {cell}; it goes from 1 to 5"):
        cells.rating("rating", cell)


@pytest.mark.parametrize(("cell", "value"), [(12, "12"), ("a/b#c%", "a/b#c%"), (0, "0")])
def test_an_identifier_is_text_or_a_whole_number(cell: object, value: str) -> None:
    assert cells.identifier("id", cell) == value


@pytest.mark.parametrize("cell", [True, 1.5, [], {"a": 1}, "", "a\tb", "x" * 513])
def test_anything_else_is_no_identifier(cell: object) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        cells.identifier("product_id", cell)
    assert caught.value.argument == "product_id"


@pytest.mark.parametrize(
    ("cell", "value"), [("EN-us", "en-US"), (" de ", "de"), ("zh_tw", "zh-TW")]
)
def test_a_language_is_canonical(cell: str, value: str) -> None:
    assert cells.language("language", cell) == value


def test_text_may_be_empty_and_has_a_most() -> None:
    assert cells.body("text", "") == ""
    assert len(cells.body("text", "é" * 10_000)) == 10_000
    with pytest.raises(InvalidArgumentError, match="10,001 characters long; the most is 10,000"):
        cells.body("text", "x" * 10_001)
    with pytest.raises(InvalidArgumentError, match="201 characters long; the most is 200"):
        cells.title("title", "x" * 201)
    with pytest.raises(InvalidArgumentError, match="text is 7; it must be text"):
        cells.body("text", 7)


@pytest.mark.parametrize(
    ("cell", "value"),
    [(True, True), ("TRUE", True), ("yes", True), (1, True), ("0", False), (False, False)],
)
def test_truth_values(cell: object, value: bool) -> None:
    assert cells.boolean("verified_purchase", cell) is value


def test_anything_else_is_no_truth_value() -> None:
    with pytest.raises(InvalidArgumentError, match="'maybe'; it must be true or false"):
        cells.boolean("verified_purchase", "maybe")


def test_a_long_cell_is_shown_by_its_start() -> None:
    assert len(str(cells.refused("text", ["x" * 5_000], "text"))) < 80
