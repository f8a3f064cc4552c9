"""The setting of aspects: their names, and their labels by language."""

from dataclasses import dataclass

from dal.model import rules
from dal.model.comment_fields import ASPECT_NAME, MAX_ASPECTS
from dal.model.shop_aspects import ShopAspects
from dal.table.errors import InvalidArgumentError
from server.option import setting


def labels_of(text: str) -> ShopAspects:
    """Return the aspects of a setting such as ``fit=Fit;de=Passform,quality``.

    Raises InvalidArgumentError if the text breaks a rule.
    """
    names: list[str] = []
    labels: dict[tuple[str, str], str] = {}
    for entry in text.split(","):
        first, *others = entry.split(";")
        name, equals, label = map(str.strip, first.partition("="))
        if not ASPECT_NAME.fullmatch(name) or name in names or (equals and not label):
            raise InvalidArgumentError("aspects", f"{entry!r} is not a new aspect.")
        names.append(name)
        if label:
            labels[name, ""] = label
        for one in others:
            tag, _, label = map(str.strip, one.partition("="))
            tag = rules.language("aspects", tag)
            if not label or (name, tag) in labels:
                raise InvalidArgumentError("aspects", f"{one!r} is not a new label.")
            labels[name, tag] = label
    rules.few("aspects", names, MAX_ASPECTS)
    return ShopAspects(names, labels)


def _is_valid(text: str) -> bool:
    try:
        labels_of(text)
    except InvalidArgumentError:
        return False
    return True


_ASPECTS = (
    _is_valid,
    "is not a list of up to six different aspects, such as 'fit=Fit;de=Passform,quality'.",
)


@dataclass(frozen=True, kw_only=True)
class AspectSettings:
    """The settings of aspects."""

    aspects: str | None = setting(
        None,
        "Aspects of products that customers can rate, at most six, separated by commas: "
        "fit,quality,value. An aspect can have a label, and labels in other languages: "
        "'fit=Fit;de=Passform,quality'. A renamed aspect is a new aspect.",
        check=_ASPECTS,
    )
