"""The sentences of ``rules`` and ``own_ids``, which GraphQL inputs and loaded files share."""

from collections.abc import Callable
from typing import Any

import pytest

from dal.model import own_ids, rules
from dal.table.errors import InvalidArgumentError

OWNER = f"imported-{'0' * 32}"
SENTENCES: list[tuple[Callable[[str, Any], object], object, str]] = [
    (rules.identifier, "", "it is empty."),
    (rules.identifier, "\0", "it contains a control character."),
    (rules.identifier, "\ud800", "it contains half a character (a surrogate)."),
    (rules.text, "\ud800", "it contains half a character (a surrogate)."),
    (
        rules.identifier,
        "x" * 513,
        "it is longer than 512 bytes; '%', '/' and '#' count as three bytes each.",
    ),
    (rules.identifier, " a", "it ' a' begins or ends with a blank: remove the blank."),
    (rules.identifier, " ", "it ' ' is blank."),
    (
        own_ids.account,
        OWNER,
        f"it {OWNER!r} is the id of an imported or erased author, who has no account.",
    ),
    (
        own_ids.own_id,
        "UHJvZHVjdDo0Mg==",
        (
            "it 'UHJvZHVjdDo0Mg==' is the base64 of 'Product:42', which is a global id of the API: "
            "use the shop's own id, such as '42'."
        ),
    ),
    (rules.rating, 6, "it is 6; it must be from 1 to 5."),
    (rules.ratings, [5] * 101, "it has 101 entries; the maximum is 100."),
    (
        rules.language,
        "e",
        "it 'e' is not a BCP 47 language tag such as 'en' or 'pt-BR'.",
    ),
    (
        rules.language,
        "qaa",
        "it 'qaa' is a private-use language tag: use a tag such as 'en' or 'pt-BR'.",
    ),
    (rules.title, "x" * 201, "it is 201 characters long; the maximum is 200."),
    (rules.stated_text, " ", "it is empty: write something."),
    (rules.search, "%?", "it has no word: write letters, digits or emoji."),
    (rules.search, " ", "it is empty: write something."),
    (rules.search, "x" * 10_000, "it is 10,000 characters long; the maximum is 200."),
    (
        rules.photo_address,
        "/1.jpg",
        "it is not a URL such as 'https://shop.example/kettle.jpg'.",
    ),
    (rules.money, "1", "it is '1'; it must be an amount such as '12.50 EUR'."),
    (
        rules.money,
        "1 ZZZ",
        "it has the currency ZZZ; it must be a payment currency of ISO 4217, such as EUR.",
    ),
]


@pytest.mark.parametrize(("rule", "value", "sentence"), SENTENCES)
def test_an_invalid_value_has_a_sentence(
    rule: Callable[[str, Any], object], value: object, sentence: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        rule("it", value)
    assert str(caught.value) == sentence
