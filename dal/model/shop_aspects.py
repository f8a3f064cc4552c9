"""The aspects that the shop names: properties of products that customers rate, such as fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dal.model.languages import coarser


@dataclass(frozen=True, slots=True)
class ShopAspects:
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
