"""Returns the shop's aspects with their labels."""

from dataclasses import dataclass
from typing import Annotated

import strawberry

from dal.model import rules
from dal.model.shop_aspects import ShopAspects
from resolvers.selection import Info
from resolvers.shop_aspects import names_of


@dataclass(frozen=True, slots=True)
class Aspect:
    """An aspect of the shop."""

    name: str


def aspects(info: Info) -> list[Aspect]:
    """Return the shop's aspects, in the order of the setting."""
    return [Aspect(name) for name in names_of(info.context)]


def label(
    root: strawberry.Parent[Aspect],
    info: Info,
    language: Annotated[
        str, strawberry.argument(description="Language of the label, as a BCP 47 tag.")
    ],
) -> str:
    """Return the label of an aspect in a language."""
    shop: ShopAspects = info.context.services[ShopAspects]
    return shop.label(root.name, rules.language("language", language))
