"""The rules of Google's product review feeds 2.4, for tests.

The published file, http://www.google.com/shopping/reviews/schema/product/2.4/product_reviews.xsd,
may not be shipped. These rules are our own copy of the documented structure.
https://developers.google.com/product-review-feeds/schema
"""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

TEXT, LINK, BOOLEAN = r"\s*\S[\s\S]*", r"(https?://)?\S+\.\S+", "true|false|1|0"

ONE, MAYBE, MANY = (1, 1), (0, 1), (1, 10**9)


def listed(name: str, of: object = TEXT) -> Mapping[str, Any]:
    return {name: (MANY, of)}


IDS = {
    "gtins": (MAYBE, listed("gtin", r"[\d -xX]{7,}")),
    "mpns": (MAYBE, listed("mpn")),
    "skus": (MAYBE, listed("sku")),
    "brands": (MAYBE, listed("brand")),
    "asins": (MAYBE, listed("asin")),
}
PRODUCT = {
    "product_ids": (MAYBE, IDS),
    "product_name": (MAYBE, TEXT),
    "product_url": (ONE, LINK),
}
REVIEW = {
    "review_id": (ONE, TEXT),
    "reviewer": (ONE, {"name": (ONE, TEXT), "reviewer_id": (MAYBE, TEXT)}),
    "is_verified_purchase": (MAYBE, BOOLEAN),
    "is_incentivized_review": (MAYBE, BOOLEAN),
    "review_timestamp": (ONE, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "title": (MAYBE, TEXT),
    "content": (ONE, TEXT),
    "review_language": (MAYBE, "[a-z]{2}"),
    "review_country": (MAYBE, "[A-Z]{2}"),
    "pros": (MAYBE, listed("pro")),
    "cons": (MAYBE, listed("con")),
    "review_url": (ONE, LINK),
    "reviewer_images": (MAYBE, listed("reviewer_image", {"url": (ONE, LINK)})),
    "ratings": (ONE, {"overall": (ONE, "[1-5]")}),
    "products": (ONE, listed("product", PRODUCT)),
    "is_spam": (MAYBE, BOOLEAN),
    "collection_method": (MAYBE, "unsolicited|post_fulfillment"),
    "transaction_id": (MAYBE, TEXT),
}
FEED = {
    "version": (ONE, r"2\.4"),
    "aggregator": (MAYBE, {"name": (ONE, TEXT)}),
    "publisher": (ONE, {"name": (ONE, TEXT), "favicon": (MAYBE, LINK)}),
    "reviews": (MAYBE, listed("review", REVIEW)),
}
ATTRIBUTES = {
    "review_url": {"type": "singleton|group"},
    "overall": {"min": "1", "max": "5"},
}
"""The required attributes of elements. ``name`` may have ``is_anonymous``."""


def check(path: Path) -> list[ET.Element]:
    """Return the reviews of a file. Raise AssertionError if it breaks a rule."""
    root = ET.parse(path).getroot()
    assert root.tag == "feed"
    check_children(root, FEED)
    reviews = root.findall("reviews/review")
    ids = [one.findtext("review_id") for one in reviews]
    assert len(set(ids)) == len(ids)
    for at in root.iterfind("reviews/review/review_timestamp"):
        datetime.fromisoformat(at.text or "")
    return reviews


def check_children(parent: ET.Element, expected: Mapping[str, Any]) -> None:
    """Check the order, the numbers and the contents of an element's children."""
    tags, names = [one.tag for one in parent], list(expected)
    assert set(tags) <= set(names), tags
    assert tags == sorted(tags, key=names.index), tags
    for name, ((least, most), content) in expected.items():
        assert least <= tags.count(name) <= most, (name, tags)
        for child in parent.findall(name):
            attributes = dict(ATTRIBUTES.get(name, {}))
            if name == "name" and child.attrib:
                attributes["is_anonymous"] = BOOLEAN
            assert child.attrib.keys() == attributes.keys(), name
            assert all(re.fullmatch(one, child.attrib[key]) for key, one in attributes.items())
            if isinstance(content, str):
                assert len(child) == 0, name
                assert re.fullmatch(content, child.text or ""), (name, child.text)
            else:
                check_children(child, content)
