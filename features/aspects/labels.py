"""The names of the shop's aspects, and their labels by language, from the text of a setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dal.model import rules
from dal.model.comment_fields import ASPECT_NAME, MAX_ASPECTS
from dal.model.languages import coarser
from dal.table.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class AspectLabels:
    """The shop's aspects, in the order in which clients show them."""

    names: Sequence[str] = ()
    labels: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The labels by name and language tag. The tag is empty for the label in other languages."""

    def label(self, name: str, language: str) -> str:
        """Return the label of an aspect for a language tag in canonical form.

        A label for ``de`` is also used for ``de-AT``.
        """
        for tag in (*reversed(coarser(language)), ""):
            if (name, tag) in self.labels:
                return self.labels[name, tag]
        return name.replace("_", " ").capitalize()


def labels_of(text: str) -> AspectLabels:
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
    return AspectLabels(names, labels)
