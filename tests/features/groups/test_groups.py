"""Groups of products: one list of comments and one sum of counts for all variants."""

from collections.abc import Sequence

import pytest
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.model import AspectRating, ProductDetails
from dal.model.shop_aspects import ShopAspects
from dal.stores import Stores
from features.aspects.settings import labels_of
from features.live.log import Log
from resolvers.change_log import ChangeLog
from resolvers.context import Context
from tests.calls import calls_of
from tests.dal.read_pages import ReadPages
from tests.putting import put_comments
from tests.schema.conftest import Run, runner
from tests.strategies import comment

COMMENTS = [
    comment(f"v{n}", product_id=f"mug-{n % 3}", rating=1 + n % 5, language="de" if n % 2 else "en")
    for n in range(12)
]
OF_GROUP = '{ product(productId: "mug-1") { group { %s } } }'


@pytest.fixture(autouse=True)
async def stored(table: Table) -> None:
    stores = Stores(table)
    await put_comments(stores.comments, COMMENTS)
    mugs = {f"mug-{n}": ProductDetails(f"Mug {n}", group="mu/gs") for n in range(3)}
    await stores.products.put_many(mugs | {"jug": ProductDetails("Jug")})


async def test_a_group_has_its_products_and_the_sum_of_their_counts(run: Run) -> None:
    answer = await run(
        OF_GROUP % 'id groupId products { title } statistics(language: "de") { total average '
        "histogram { rating count } languages { language count } }"
    )
    german = [one.rating for one in COMMENTS if one.language == "de"]
    assert answer["data"]["product"]["group"] == {
        "id": to_base64("ProductGroup", "mu/gs"),
        "groupId": "mu/gs",
        "products": [{"title": f"Mug {n}"} for n in range(3)],
        "statistics": {
            "total": len(german),
            "average": sum(german) / len(german),
            "histogram": [{"rating": n, "count": german.count(n)} for n in (5, 4, 3, 2, 1)],
            "languages": [{"language": "de", "count": len(german)}],
        },
    }


async def test_a_groups_list_has_the_arguments_of_a_products_list(run: Run) -> None:
    fields = "totalCount eventCursor nodes { commentId product { productId } }"
    fields += " pageInfo { hasNextPage hasPreviousPage endCursor }"
    seen, after = [], ""
    while True:
        page = f"comments(first: 2, rating: [2, 3, 5], orderBy: OLDEST{after}) {{ {fields} }}"
        found = (await run(OF_GROUP % page))["data"]["product"]["group"]["comments"]
        seen += [(one["commentId"], one["product"]["productId"]) for one in found["nodes"]]
        if not found["pageInfo"]["hasNextPage"]:
            break
        assert found["pageInfo"]["hasPreviousPage"] is bool(after)
        after = f', after: "{found["pageInfo"]["endCursor"]}"'
    kept = [one for one in COMMENTS if one.rating in {2, 3, 5}]
    kept.sort(key=lambda one: (one.created_at, one.comment_id))
    assert seen == [(one.comment_id, one.product_id) for one in kept]
    assert found["totalCount"] == len(kept)


async def test_a_group_has_the_averages_and_ratings_of_aspects(
    table: Table, schema: Schema
) -> None:
    stores = Stores(table)
    mine = {
        "mug-0": (AspectRating("fit", 5), AspectRating("old", 1)),
        "mug-1": (AspectRating("fit", 2), AspectRating("quality", 4)),
        "jug": (AspectRating("fit", 1),),
    }
    rated = [
        comment(f"a-{one}", product_id=one, aspects=aspects, language="fr")
        for one, aspects in mine.items()
    ]
    await put_comments(stores.comments, rated)
    context = Context(None, stores, services={ShopAspects: labels_of("fit,quality")})
    text = OF_GROUP % (
        "statistics { aspects { name count average } } "
        'comments(language: "fr") { nodes { commentId aspects { name rating } } }'
    )
    done = await schema.execute(text, context_value=context)
    assert (done.errors, done.data) == (
        None,
        {
            "product": {
                "group": {
                    "statistics": {
                        "aspects": [
                            {"name": "fit", "count": 2, "average": 3.5},
                            {"name": "quality", "count": 1, "average": 4.0},
                        ]
                    },
                    "comments": {
                        "nodes": [
                            {
                                "commentId": "a-mug-1",
                                "aspects": [
                                    {"name": "fit", "rating": 2},
                                    {"name": "quality", "rating": 4},
                                ],
                            },
                            {"commentId": "a-mug-0", "aspects": [{"name": "fit", "rating": 5}]},
                        ]
                    },
                }
            }
        },
    )


async def test_a_groups_page_has_one_plan(run: Run) -> None:
    pages = ReadPages()
    await run(OF_GROUP % "comments(first: 3) { nodes { id } }", pages=pages)
    (page,) = pages
    assert page.summary == ("AP1 (several products)", "all", 3)
    ((_, plan),) = page.plans
    assert [one.partition for one in plan.segments] == [f"PRODUCT#mug-{n}" for n in range(3)]


async def test_groups_of_several_products_are_read_together(table: Table, schema: Schema) -> None:
    calls = calls_of(table)
    ids = '"mug-0", "mug-1", "jug", "unknown"'
    answer = await runner(schema, Stores(table))(
        f"{{ products(productIds: [{ids}]) {{ group {{ groupId }} }} }}"
    )
    groups = [one["group"] for one in answer["data"]["products"]]
    assert groups == [{"groupId": "mu/gs"}, {"groupId": "mu/gs"}, None, None]
    assert calls.operations == {"BatchGetItem": 2}


async def test_a_group_is_a_node_and_an_unknown_group_is_null(run: Run) -> None:
    ids = [to_base64("ProductGroup", one) for one in ("mu/gs", "none")]
    answer = await run(
        "query($ids: [ID!]!) { nodes(ids: $ids) { ... on ProductGroup { groupId } } }", ids=ids
    )
    assert answer["data"]["nodes"] == [{"groupId": "mu/gs"}, None]


async def test_a_groups_list_has_no_event_cursor(table: Table, schema: Schema) -> None:
    context = Context(None, Stores(table), services={ChangeLog: Log()})
    text = OF_GROUP % "comments { eventCursor }"
    result = await schema.execute(text, context_value=context)
    assert (result.errors, result.data) == (
        None,
        {"product": {"group": {"comments": {"eventCursor": None}}}},
    )


@pytest.mark.parametrize(
    ("lists", "codes"), [(range(4), []), (range(5), ["QUERY_TOO_COSTLY"])], ids=len
)
async def test_an_operation_may_read_a_limited_number_of_groups_products(
    table: Table, run: Run, lists: Sequence[int], codes: list[str]
) -> None:
    """The prediction assumes ten products per group, so only the execution can refuse the
    operation.
    """
    many = {f"large {n}": ProductDetails(group="large") for n in range(60)}
    await Stores(table).products.put_many(many)
    fields = " ".join(f"s{n}: statistics {{ total }}" for n in lists)
    answer = await run(f'{{ product(productId: "large 0") {{ group {{ {fields} }} }} }}')
    assert [error["extensions"]["code"] for error in answer["errors"]] == codes
