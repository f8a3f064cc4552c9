"""The setting of aspects: names, and labels by language."""

import pytest

from dal.table.errors import InvalidArgumentError
from features.aspects.settings import labels_of


def test_an_aspect_has_a_label_in_each_language() -> None:
    shop = labels_of("fit=Fit; de=Passform;pt-br=Caimento, value_for_money,size;DE=Größe")
    assert shop.names == ["fit", "value_for_money", "size"]
    assert {tag: shop.label("fit", tag) for tag in ("en", "de", "de-AT", "pt-BR", "pt")} == {
        "en": "Fit",
        "de": "Passform",
        "de-AT": "Passform",
        "pt-BR": "Caimento",
        "pt": "Fit",
    }
    assert shop.label("value_for_money", "de") == "Value for money"
    assert (shop.label("size", "de"), shop.label("size", "fr")) == ("Größe", "Size")


@pytest.mark.parametrize(
    "text",
    [
        *("", "Fit", "fit,", "fit,fit", "fit=", "1st", "a-b", "x" * 21, "a,b,c,d,e,f,g"),
        *("fit;de=", "fit;=Fit", "fit;nonsense-tag-!=Fit", "fit;de=A;de=B", "fit;Fit"),
    ],
)
def test_an_invalid_setting_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        labels_of(text)
