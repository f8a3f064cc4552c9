"""Aspects: the properties of products that customers of the shop rate, such as fit."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from resolvers.context import Context


class ShopAspects(Protocol):
    """The aspects that the shop names."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the aspects, in the order in which clients show them."""

    def label(self, name: str, language: str) -> str:
        """Return the label of an aspect for a language tag in canonical form."""


def labels(context: Context, language: str) -> Mapping[str, str]:
    """Return the labels of the shop's aspects by their names, in the order of the aspects."""
    shop: ShopAspects | None = context.services.get(ShopAspects)
    return {} if shop is None else {one: shop.label(one, language) for one in shop.names}


def names_of(context: Context) -> Sequence[str]:
    """Return the names of the shop's aspects. The result is empty if the shop has none."""
    shop: ShopAspects | None = context.services.get(ShopAspects)
    return () if shop is None else shop.names
