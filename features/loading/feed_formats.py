"""The formats of review feeds: the XML of Google Merchant Center, and the CSV of Meta's shops.

- Google: https://developers.google.com/product-review-feeds/schema (version 2.4)
- Meta: https://developers.facebook.com/documentation/ads-commerce/commerce-platform/platforms/feed-schema-csv
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import orjson
from markupsafe import escape

from dal.model import Comment, CommentSource
from dal.table.key_parts import format_instant
from features.loading.export_rows import csv_records
from features.loading.feed_writer import FeedFormat, Review, Shop, valid

_GOOGLE_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<feed xmlns:vc="http://www.w3.org/2007/XMLSchema-versioning" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:noNamespaceSchemaLocation="http://www.google.com/shopping/reviews/schema/product/2.4/'
    'product_reviews.xsd">\n<version>2.4</version>\n'
)


_COLLECTED = {
    CommentSource.SITE: "unsolicited",
    CommentSource.INVITATION: "post_fulfillment",
}
"""How a comment was collected, by its source. For imported comments, it is unknown."""

_ISO_639_1 = 2
"""The length of the language codes in Google's example."""


def _text(text: str) -> str:
    return str(escape(valid(text).strip()))


def _element(name: str, text: str | None, attribute: str = "") -> str:
    """Return an element with a text, which is escaped. An element without a text is left out."""
    content = _text(text or "")
    return f"<{name}{attribute}>{content}</{name}>" if content else ""


def _parent(name: str, *children: str) -> str:
    content = "".join(children)
    return f"<{name}>{content}</{name}>" if content else ""


def _boolean(value: bool) -> str:  # noqa: FBT001 - the value to write
    return "true" if value else "false"


def _google_head(shop: Shop) -> bytes:
    publisher = _parent("publisher", _element("name", shop.name), _element("favicon", shop.icon))
    return f"{_GOOGLE_HEAD}{publisher}\n<reviews>\n".encode()


def _google(shop: Shop, review: Review) -> bytes:
    """Return a review. The order of the elements is part of Google's schema."""
    one, details = review.comment, review.details
    name, anonymous = review.author
    language = one.language.partition("-")[0]
    product_ids = _parent(
        "product_ids",
        _parent("gtins", _element("gtin", details.gtin)),
        _parent("mpns", _element("mpn", details.mpn)),
        _parent("skus", _element("sku", one.product_id)),
        _parent("brands", _element("brand", details.brand)),
    )
    product = _parent(
        "product",
        product_ids,
        _element("product_name", review.product_name),
        _element("product_url", review.url),
    )
    images = (_parent("reviewer_image", _element("url", url)) for url in shop.photos(one))
    element = _parent(
        "review",
        _element("review_id", one.comment_id),
        _parent("reviewer", _element("name", name, ' is_anonymous="true"' * anonymous)),
        _element("is_verified_purchase", _boolean(one.verified_purchase)),
        _element("is_incentivized_review", _boolean(one.incentivized)),
        _element("review_timestamp", format_instant(one.created_at)),
        _element("title", one.title),
        _element("content", one.text),
        _element("review_language", language if len(language) == _ISO_639_1 else ""),
        # The page of the product shows its comments. So it is the page of a group of reviews.
        _element("review_url", review.url, ' type="group"'),
        _parent("reviewer_images", *images),
        _parent("ratings", _element("overall", str(one.rating), ' min="1" max="5"')),
        _parent("products", product),
        _element("is_spam", _boolean(False)),
        _element("collection_method", _COLLECTED.get(one.source)),
    )
    return f"{element}\n".encode()


def _list(values: Iterable[str]) -> str:
    """Return a list as JSON, as Meta's own extensions for shops write it."""
    given = [one for one in values if one]
    return orjson.dumps(given).decode() if given else ""


def _instant(instant: datetime | None) -> str:
    return "" if instant is None else format_instant(instant)


def _aspects(comment: Comment) -> str:
    aspects = {rated.name.replace("_", " "): rated.rating for rated in comment.aspects}
    return orjson.dumps(aspects).decode() if aspects else ""


_META: Mapping[str, Callable[[Shop, Review], str]] = {
    "aggregator": lambda *_: "",
    "store.name": lambda shop, _: shop.name,
    "store.id": lambda shop, _: shop.shop_id or "",
    "store.storeUrls": lambda shop, _: _list([shop.url]),
    "reviewID": lambda _, one: one.comment.comment_id,
    "rating": lambda _, one: str(one.comment.rating),
    "title": lambda _, one: one.comment.title.strip(),
    "content": lambda _, one: one.comment.text.strip(),
    "created_at": lambda _, one: format_instant(one.comment.created_at),
    "updated_at": lambda _, one: _instant(one.comment.updated_at),
    "review_image_urls": lambda shop, one: _list(shop.photos(one.comment)),
    "incentivized": lambda _, one: _boolean(one.comment.incentivized),
    "has_verified_purchase": lambda _, one: _boolean(one.comment.verified_purchase),
    "reviewer.name": lambda _, one: one.author[0],
    "reviewer.isAnonymous": lambda _, one: _boolean(one.author[1]),
    "product.name": lambda _, one: one.product_name,
    "product.url": lambda _, one: one.url,
    "product.imageUrls": lambda shop, one: _list([shop.link(one.details.picture_url)]),
    "product.groupID": lambda _, one: one.details.group or "",
    "product.productIdentifiers.gtins": lambda _, one: _list([one.details.gtin]),
    "product.productIdentifiers.mpn": lambda _, one: one.details.mpn,
    "product.productIdentifiers.brand": lambda _, one: one.details.brand,
    "product.productIdentifiers.skus": lambda _, one: _list([one.comment.product_id]),
    "secondary_ratings": lambda _, one: _aspects(one.comment),
}
"""The columns of Meta's feed, each with the function that returns its cell."""


def _meta(shop: Shop, review: Review) -> bytes:
    return csv_records([[valid(cell(shop, review)) for cell in _META.values()]])


FEEDS: Mapping[str, FeedFormat] = {
    "google-reviews": FeedFormat("xml", _google_head, _google, b"</reviews>\n</feed>\n"),
    "meta-reviews": FeedFormat("csv", lambda _: csv_records([_META]), _meta),
}
"""The formats of feeds by their names, the values of ``export --format``."""
