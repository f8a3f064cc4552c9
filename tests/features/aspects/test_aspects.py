"""Ratings of aspects in the API: inputs, comments, statistics and labels."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.model import AspectRating
from dal.model.shop_aspects import ShopAspects
from dal.stores import Stores
from features.aspects.settings import labels_of
from resolvers.context import Context
from tests.schema.conftest import ANN, SERVICES
from tests.strategies import comment

Ask = Callable[..., Awaitable[Any]]

FIELDS = "comment { id aspects { name rating } } userErrors { code field }"
COUNTS = "product { statistics { aspects { name count average } } }"
ADD = f"""mutation ($aspects: [AspectInput!], $language: String! = "en") {{ addComment(input: {{
  productId: "p", rating: 5, language: $language, text: "Good.", aspects: $aspects
}}) {{ {FIELDS} {COUNTS} }} }}"""
EDIT = f"""mutation ($id: ID!, $aspects: [AspectInput!]) {{ updateComment(input: {{
  id: $id, aspects: $aspects }}) {{ {FIELDS} {COUNTS} }} }}"""
DELETE = f"mutation ($id: ID!) {{ deleteComment(input: {{ id: $id }}) {{ {COUNTS} }} }}"


def rated(**ratings: int) -> list[dict[str, Any]]:
    return [{"name": name, "rating": rating} for name, rating in ratings.items()]


@pytest.fixture
def shop(schema: Schema, table: Table) -> Ask:
    """A function that runs an operation on a server with a setting of aspects."""

    async def ask(operation: str, *, names: str | None = "fit,quality", **variables: Any) -> Any:
        services = dict(SERVICES)
        if names is not None:
            services[ShopAspects] = labels_of(names)
        context = Context(ANN, Stores(table), services=services)
        done = await schema.execute(operation, variables, context_value=context)
        assert not done.errors, done.errors
        assert done.data is not None
        (answer,) = done.data.values()
        return answer

    return ask


def counts(payload: Any) -> dict[str, tuple[int, float | None]]:
    found = payload["product"]["statistics"]["aspects"]
    return {one["name"]: (one["count"], one["average"]) for one in found}


async def test_each_write_changes_the_averages(shop: Ask) -> None:
    one = await shop(ADD, aspects=rated(quality=3, fit=5))
    assert one["comment"]["aspects"] == rated(fit=5, quality=3)
    assert counts(one) == {"fit": (1, 5.0), "quality": (1, 3.0)}
    assert counts(await shop(ADD, aspects=rated(fit=2), language="de")) == {
        "fit": (2, 3.5),
        "quality": (1, 3.0),
    }
    assert counts(await shop(ADD)) == {"fit": (2, 3.5), "quality": (1, 3.0)}
    this = {"id": one["comment"]["id"]}
    edited = await shop(EDIT, aspects=rated(fit=1), **this)
    assert edited["comment"]["aspects"] == rated(fit=1)
    assert counts(edited) == {"fit": (2, 1.5), "quality": (0, None)}
    retitled = EDIT.replace("aspects: $aspects", 'title: "T"').replace(
        ", $aspects: [AspectInput!]", ""
    )
    again = await shop(retitled, **this)
    assert again["comment"]["aspects"] == rated(fit=1)
    german = await shop(
        """{ product(productId: "p") { statistics(language: "de") {
             aspects { name count average } } } }"""
    )
    assert counts({"product": german}) == {"fit": (1, 2.0), "quality": (0, None)}
    assert counts(await shop(EDIT, aspects=None, **this)) == {"fit": (1, 2.0), "quality": (0, None)}
    assert counts(await shop(DELETE, **this)) == {"fit": (1, 2.0), "quality": (0, None)}


@pytest.mark.parametrize(
    ("aspects", "field"),
    [
        (rated(fit=5, colour=5), "1.name"),
        (rated(Fit=5), "0.name"),
        (rated(fit=0), "0.rating"),
        (rated(quality=5, fit=6), "1.rating"),
        (rated(fit=5) * 2, "1.name"),
        (rated(fit=5) * 7, ""),
    ],
    ids=["not the shop's", "other case", "rating 0", "rating 6", "twice", "more than six"],
)
async def test_an_invalid_rating_is_one_user_error(
    shop: Ask, aspects: list[dict[str, Any]], field: str
) -> None:
    path = ["input", "aspects", *filter(None, field.split("."))]
    refused = [{"code": "BAD_ARGUMENT", "field": path}]
    assert (await shop(ADD, aspects=aspects))["userErrors"] == refused
    one = await shop(ADD, aspects=rated(fit=4))
    edit = await shop(EDIT, aspects=aspects, id=one["comment"]["id"])
    assert edit["userErrors"] == refused
    assert counts(one) == {"fit": (1, 4.0), "quality": (0, None)}


async def test_a_shop_without_aspects_refuses_them_and_shows_none(shop: Ask) -> None:
    refused = await shop(ADD, aspects=rated(fit=5), names=None)
    assert refused["userErrors"] == [
        {"code": "BAD_ARGUMENT", "field": ["input", "aspects", "0", "name"]}
    ]
    added = await shop(ADD, aspects=[], names=None)
    assert (added["comment"]["aspects"], counts(added)) == ([], {})
    assert await shop("{ aspects { name } }", names=None) == []


async def test_a_renamed_aspect_is_a_new_one_and_its_ratings_are_kept(shop: Ask) -> None:
    one = await shop(ADD, aspects=rated(fit=5, quality=3))
    renamed = await shop(ADD, aspects=rated(cut=4), names="cut,quality")
    assert counts(renamed) == {"cut": (1, 4.0), "quality": (1, 3.0)}
    node = """query ($id: ID!) { node(id: $id) { ... on Comment { aspects { name rating } } } }"""
    known = {"id": one["comment"]["id"]}
    assert (await shop(node, names="cut,quality", **known))["aspects"] == rated(quality=3)
    assert (await shop(node, **known))["aspects"] == rated(fit=5, quality=3)
    assert counts(await shop(ADD)) == {"fit": (1, 5.0), "quality": (1, 3.0)}
    edited = await shop(EDIT, names="cut,quality", aspects=rated(cut=2), **known)
    assert edited["comment"]["aspects"] == rated(cut=2)
    assert counts(edited) == {"cut": (2, 3.0), "quality": (0, None)}
    cleared = await shop(EDIT, names="cut,quality", aspects=None, **known)
    assert counts(cleared) == {"cut": (1, 4.0), "quality": (0, None)}
    assert (await shop(node, **known))["aspects"] == rated(fit=5)
    assert counts(await shop(ADD)) == {"fit": (1, 5.0), "quality": (0, None)}


async def test_a_comment_has_ratings_of_six_aspects_at_most(shop: Ask) -> None:
    """An edit with ratings of more aspects drops ratings that the shop does not show."""
    old, new = ["a1", "a2", "a3", "a4", "a5", "a6"], ["b1", "b2", "b3", "b4"]
    one = await shop(ADD, names=",".join(old), aspects=rated(**dict.fromkeys(old, 5)))
    known = {"id": one["comment"]["id"]}
    ratings = rated(**dict.fromkeys(new, 4))
    await shop(EDIT, names=",".join(new), aspects=ratings, **known)
    shown = await shop(ADD, names="a1,a2,a3,b1,b2,b4")
    rest = {name: count for name, (count, _) in counts(shown).items()}
    assert rest == {"a1": 1, "a2": 1, "a3": 0, "b1": 1, "b2": 1, "b4": 1}


async def test_clients_get_the_aspects_with_labels(shop: Ask) -> None:
    labels = """query ($language: String!) { aspects { name label(language: $language) } }"""
    found = await shop(labels, names="fit=Fit;de=Passform,quality", language="DE-at")
    assert found == [
        {"name": "fit", "label": "Passform"},
        {"name": "quality", "label": "Quality"},
    ]


@pytest.mark.parametrize(
    "foreign", [("Fit", 5), ("x" * 21, 5), ("fit", 0), ("fit", 6), ("fit", True), ("fit", 4.5)]
)
def test_what_another_program_wrote_is_neither_shown_nor_counted(foreign: tuple[str, Any]) -> None:
    valid = tuple([AspectRating(f"a{number}", 5) for number in range(6)])
    for written in ((AspectRating(*foreign), *valid), (*valid, AspectRating("seventh", 5))):
        item = COMMENT.encode(comment(aspects=written))
        assert COMMENT.decode(item).aspects == valid
