"""Aspects: the properties of products that customers of the shop rate, such as fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import strawberry

from dal.counts.counts import CommentStatistics, sum_names
from dal.model import AspectRating, Comment, rules
from dal.model.comment_fields import ASPECTS, MAX_ASPECTS
from dal.model.shop_aspects import ShopAspects
from dal.table.errors import InvalidArgumentError
from dal.writes.comments import Stored
from resolvers.context import Context
from resolvers.mutations import checked_each
from resolvers.selection import Info


def labels(context: Context, language: str) -> Mapping[str, str]:
    """Return the labels of the shop's aspects by their names, in the order of the aspects."""
    shop: ShopAspects | None = context.services.get(ShopAspects)
    return {} if shop is None else {one: shop.label(one, language) for one in shop.names}


def names_of(context: Context) -> Sequence[str]:
    """Return the names of the shop's aspects. The result is empty if the shop has none."""
    shop: ShopAspects | None = context.services.get(ShopAspects)
    return () if shop is None else shop.names


@strawberry.input(description="A rating of one aspect of the product.")
class AspectInput:
    """A rating of one aspect of the product."""

    name: str = strawberry.field(description="Name of one of the shop's `aspects`, such as `fit`.")
    rating: int = strawberry.field(description="Rating from 1 to 5.")


def stated(
    names: Sequence[str], argument: str, given: Sequence[AspectInput]
) -> tuple[AspectRating, ...]:
    """Return the ratings that an author states. ``names`` are those of the shop's aspects."""

    def known(field: str, name: str) -> str:
        if name not in names:
            use = f"Use one of: {', '.join(names)}." if names else f"Leave out {argument}."
            raise InvalidArgumentError(
                field, f"{field} {name[:99]!r} is not an aspect of this shop. {use}"
            )
        return name

    entries = rules.few(argument, given, MAX_ASPECTS)
    ratings = checked_each(argument, entries, {"name": known, "rating": rules.rating})
    seen = set[str]()
    for number, one in enumerate(ratings):
        if one["name"] in seen:
            field = f"{argument}.{number}.name"
            raise InvalidArgumentError(
                field, f"{field} repeats {one['name']!r}. Rate each aspect only once."
            )
        seen.add(one["name"])
    return tuple(AspectRating(**one) for one in ratings)


def with_hidden(context: Context, old: Stored, new: Stored) -> Stored:
    """Return an edited comment with the old ratings that the shop does not show."""
    names = names_of(context)
    hidden = [one for one in old.aspects if one.name not in names]
    kept = (*new.aspects, *hidden)[:MAX_ASPECTS]
    return new._replace(aspects=kept) if isinstance(new, Comment) else replace(new, aspects=kept)


def of_comment(root: strawberry.Parent[Any], info: Info) -> list[AspectRating]:
    """Return a comment's or submission's ratings of aspects, in the order of the shop's aspects.

    The comment may also have ratings of aspects that the shop has renamed or removed.
    """
    if not root.aspects:
        return []
    rated: Mapping[str, AspectRating] = {one.name: one for one in root.aspects}
    return [rated[name] for name in names_of(info.context) if name in rated]


@dataclass(frozen=True, slots=True)
class AspectCount:
    """The number of ratings of one aspect, and their mean; None without ratings."""

    name: str
    count: int
    average: float | None


def of_statistics(root: strawberry.Parent[CommentStatistics], info: Info) -> list[AspectCount]:
    """Return the counts of each of the shop's aspects, also of those without ratings.

    The statistics may also have counts of aspects that the shop has renamed or removed.
    """
    sums, counts = dict(root.overall.sums), list[AspectCount]()
    for name in names_of(info.context):
        count, total = [sums.get(one, 0) for one in sum_names(ASPECTS, name)]
        counts.append(AspectCount(name, count, total / count if count else None))
    return counts
