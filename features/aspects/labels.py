"""The names of the shop's aspects, and their labels by language, from the text of a setting."""

from dal.model import rules
from dal.model.comment_fields import ASPECT_NAME, MAX_ASPECTS
from dal.model.shop_aspects import ShopAspects
from dal.table.errors import InvalidArgumentError


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
