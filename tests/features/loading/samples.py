"""Sample files for the presets, written after the documentation of each format.

Each call returns the same bytes. Texts and names are invented. Each file has the special cases of
its format: missing values, repeated rows, rows in other states, and malformed rows.
"""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape, quoteattr

_START = datetime(2014, 3, 1, 12, tzinfo=UTC)
_WORDS = ["it", "works", "well", "was", "here", "fast", "my", "cat", "likes", "too", "small"]
NAMES = ["Ana M.", "Bo", "Chloé", "D. O'Hara", "Ёлка", "fünf"]
_LONG_TITLE = "so " * 80


def _text(rng: random.Random, words: int = 12) -> str:
    return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."


def _moment(rng: random.Random) -> datetime:
    return _START + timedelta(seconds=rng.randrange(300_000_000))


def _code(rng: random.Random, size: int) -> str:
    return "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=size))


def _lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _csv(rows: Sequence[Mapping[str, object]], bom: str = "") -> bytes:
    text = io.StringIO(bom, newline="")
    text.seek(0, io.SEEK_END)
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def amazon_2014() -> bytes:
    """Return 24 lines: votes as pairs, a missing name, a too long title, a repeated row."""
    rng = random.Random(2014)
    rows: list[dict[str, object]] = []
    for number in range(22):
        moment = _moment(rng).replace(hour=0, minute=0, second=0)
        rows.append(
            {
                "reviewerID": f"A{_code(rng, 13)}",
                "asin": f"B00{number % 4:07}",
                "reviewerName": rng.choice(NAMES),
                "helpful": rng.choice([[0, 0], [1, 1], [2, 3]]),
                "reviewText": "" if number == 5 else _text(rng),
                "overall": float(rng.randint(1, 5)),
                "summary": _LONG_TITLE if number == 7 else _text(rng, 3),
                "unixReviewTime": int(moment.timestamp()),
                "reviewTime": f"{moment:%m} {moment.day}, {moment:%Y}",
            }
        )
    del rows[3]["reviewerName"]
    broken = b'{"reviewerID": "A1", "asin": "B000000000", "reviewText": "never clos\n'
    return gzip.compress(_lines([*rows, rows[0]]) + broken, mtime=0)


def amazon_2018() -> bytes:
    """Return 24 lines: votes as text, photos, variants, missing texts and titles, two
    rows with one id.
    """
    rng = random.Random(2018)
    rows: list[dict[str, object]] = []
    for number in range(23):
        moment = _moment(rng).replace(hour=0, minute=0, second=0)
        row: dict[str, object] = {
            "overall": float(rng.randint(1, 5)),
            "verified": rng.random() < 0.7,
            "reviewTime": f"{moment:%m} {moment.day}, {moment:%Y}",
            "reviewerID": f"A{_code(rng, 13)}",
            "asin": f"B01{number % 4:07}",
            "reviewerName": rng.choice(NAMES),
            "reviewText": _text(rng),
            "summary": _text(rng, 3),
            "unixReviewTime": int(moment.timestamp()),
        }
        if number % 4 == 0:
            row["vote"] = rng.choice(["2", "1,204"])
        if number % 5 == 0:
            row["image"] = ["https://images.example/1.jpg"]
        if number % 3 == 0:
            row["style"] = {"Size:": " Small", "Color:": " Red"}
        rows.append(row)
    del rows[2]["reviewText"], rows[4]["summary"]
    return gzip.compress(_lines([*rows, rows[1] | {"reviewText": "On second thoughts."}]), mtime=0)


def amazon_2023() -> bytes:
    """Return 20 lines: dates in milliseconds, photos as objects, an invalid rating."""
    rng = random.Random(2023)
    rows: list[dict[str, object]] = [
        {
            "rating": 0.0 if number == 9 else float(rng.randint(1, 5)),
            "title": _text(rng, 3),
            "text": f"{_text(rng)} 👍" if number % 2 else _text(rng),
            "images": [{"small_image_url": "https://images.example/1.jpg"}] * (number % 3 == 0),
            "asin": f"B02{number:07}",
            "parent_asin": f"B02{number % 4:07}",
            "user_id": f"A{_code(rng, 27)}",
            "timestamp": int(_moment(rng).timestamp()) * 1000 + rng.randrange(1000),
            "helpful_vote": rng.choice([0, 0, 3]),
            "verified_purchase": rng.random() < 0.7,
        }
        for number in range(20)
    ]
    return gzip.compress(_lines(rows), mtime=0)


def yelp() -> bytes:
    """Return 18 lines: votes of three kinds, texts of several lines, no titles."""
    rng = random.Random(5)
    return _lines(
        [
            {
                "review_id": f"{_code(rng, 20)}-{number}",
                "user_id": f"_{_code(rng, 21)}",
                "business_id": f"shop-{number % 3}",
                "stars": float(rng.randint(1, 5)),
                "useful": rng.choice([0, 0, 4]),
                "funny": rng.choice([0, 0, 1]),
                "cool": 0,
                "text": f"{_text(rng)}\n\n{_text(rng)}",
                "date": f"{_moment(rng):%Y-%m-%d %H:%M:%S}",
            }
            for number in range(18)
        ]
    )


def judgeme() -> bytes:
    """Return 20 rows: dates that end in UTC, spam, photos, replies, a review of the shop itself."""
    rng = random.Random(6)
    rows: list[dict[str, object]] = []
    for number in range(20):
        replied = number % 6 == 0
        rows.append(
            {
                "title": _text(rng, 3),
                "body": f'{_text(rng)}\n"{_text(rng, 3)}"' if number % 3 else _text(rng),
                "rating": rng.randint(1, 5),
                "review_date": f"{_moment(rng):%Y-%m-%d %H:%M:%S} UTC",
                "source": rng.choice(["web", "email"]),
                "curated": {4: "spam", 11: "spam", 2: "not-yet"}.get(number, "ok"),
                "reviewer_name": "" if number == 8 else rng.choice(NAMES),
                "reviewer_email": f"buyer{number}@mail.example",
                "product_id": "" if number == 15 else 7_000_000_000_000 + number % 3,
                "product_handle": "" if number == 15 else f"mug-{number % 3}",
                "reply": "Thank you!" if replied else "",
                "reply_date": f"{_moment(rng):%Y-%m-%d %H:%M:%S} UTC" if replied else "",
                "picture_urls": "https://p.example/1.jpg,https://p.example/2.jpg"
                * (number % 5 == 0),
                "ip_address": f"192.0.2.{number}",
                "location": rng.choice(["FR", ""]),
                "metaobject_handle": f"r-{_code(rng, 6).lower()}",
            }
        )
    return _csv(rows)


def yotpo() -> bytes:
    """Return 16 rows after a byte order mark: rejected, pending and deleted reviews,
    buyers' reviews.
    """
    rng = random.Random(7)
    states = {3: "Rejected", 9: "Pending", 12: "Deleted"}
    return _csv(
        [
            {
                "Review ID": 410_000_000 + number,
                "Review Type": "product_review",
                "Review Status": states.get(number, "Published"),
                "Review Score": rng.randint(1, 5),
                "Review Title": _text(rng, 3),
                "Review Content": _text(rng),
                "Review Creation Date": f"{_moment(rng):%Y-%m-%dT%H:%M:%S.000Z}",
                "Reviewer Display Name": "" if number == 6 else rng.choice(NAMES),
                "Reviewer Email": f"buyer{number}@mail.example",
                "Reviewer Type": rng.choice(["verified_buyer", "anonymous_user"]),
                "Product ID": 900 + number % 3,
                "Product Title": f"Mug no. {number % 3}",
                "Product Handle": f"mug-{number % 3}",
                "Order ID": "" if number % 2 else 5000 + number,
                "Published Image URLs": "https://p.example/1.jpg" * (number % 4 == 0),
                "Unpublished Image URLs": "",
            }
            for number in range(16)
        ],
        bom="\ufeff",
    )


def bazaarvoice() -> bytes:
    """Return 15 reviews of 3 products: removed, pending and rejected ones, photos,
    replies, no text.
    """
    rng = random.Random(8)
    products = []
    for product in range(3):
        reviews = [_bazaarvoice_review(rng, product * 5 + number) for number in range(5)]
        products.append(
            f'<Product id="mug-{product}" removed="false"><ExternalId>mug-{product}</ExternalId>'
            f"<Name>Mug &amp; saucer no. {product}</Name><Reviews>{''.join(reviews)}</Reviews>"
            "<NumReviews>5</NumReviews></Product>\n"
        )
    space = "http://www.bazaarvoice.com/xs/PRR/StandardClientFeed/14.7"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Feed xmlns="{space}" name="shop" extractDate="2024-01-01T00:00:00.000Z">\n'
        f"{''.join(products)}</Feed>\n"
    ).encode()


def _bazaarvoice_review(rng: random.Random, number: int) -> str:
    name = "" if number == 6 else escape(rng.choice(NAMES))
    words = "" if number == 4 else f"<ReviewText><![CDATA[{_text(rng)} <3]]></ReviewText>"
    photo = '<Photos><Photo id="p1"><Caption>On my desk</Caption></Photo></Photos>'
    answer = (
        "<ClientResponses><ClientResponse><Response>We are sorry.</Response>"
        "<Date>2023-05-01T10:00:00.000-05:00</Date></ClientResponse></ClientResponses>"
    )
    removed = quoteattr("true" if number == 9 else "false")
    states = {3: "REJECTED", 8: "PENDING"}
    return (
        f'\n<Review id="{60_000 + number}" removed={removed}>'
        f"<ModerationStatus>{states.get(number, 'APPROVED')}</ModerationStatus>"
        f"<LastModificationTime>{_moment(rng):%Y-%m-%dT%H:%M:%S}.000-05:00</LastModificationTime>"
        f'<UserProfileReference id="u{number}"><ExternalId>u{number}</ExternalId>'
        f"<DisplayName>{name}</DisplayName></UserProfileReference>"
        f"<RatingsOnly>{str(number == 4).lower()}</RatingsOnly>"
        f"<Title>{_text(rng, 3)}</Title>{words}<Rating>{rng.randint(1, 5)}</Rating>"
        f"<RatingRange>5</RatingRange><Recommended>true</Recommended><NumComments>0</NumComments>"
        f"<NumFeedbacks>{number % 3}</NumFeedbacks>"
        f"<DisplayLocale>{rng.choice(['en_US', 'fr_CA'])}</DisplayLocale>"
        f"<SubmissionTime>{_moment(rng):%Y-%m-%dT%H:%M:%S}.000-05:00</SubmissionTime>"
        f"{photo * (number % 4 == 0)}{answer * (number % 5 == 0)}</Review>"
    )


def wix() -> bytes:
    """Return 12 lines: nested objects, all states, replies, a visitor without a contact."""
    rng = random.Random(9)
    states = {2: "IN_MODERATION", 5: "REJECTED", 7: "SUBMITTED", 9: "UNKNOWN"}
    rows: list[dict[str, object]] = []
    for number in range(12):
        moment = f"{_moment(rng):%Y-%m-%dT%H:%M:%S.000Z}"
        photos = [{"image": "https://static.example/1.jpg"}] * (number % 4 == 0)
        author = {"authorName": rng.choice(NAMES), "contactId": f"{_code(rng, 8)}-{number}"}
        rows.append(
            {
                "namespace": "stores",
                "entityId": f"mug-{number % 3}",
                "id": f"{_code(rng, 8)}-{number}".lower(),
                "content": {
                    "title": _text(rng, 3),
                    "body": _text(rng),
                    "rating": rng.randint(1, 5),
                    "media": photos,
                },
                "createdDate": moment,
                "updatedDate": moment,
                "author": {"authorName": "Bo"} if number == 6 else author,
                "foundHelpful": number % 3,
                "foundUnhelpful": 0,
                "moderation": {"moderationStatus": states.get(number, "APPROVED")},
                "verified": number % 2 == 0,
                "reviewDate": moment,
            }
        )
        if number % 5 == 0:
            rows[-1]["reply"] = {"message": "Thank you!", "createdDate": moment}
    return _lines(rows)


def loox() -> bytes:
    """Return 14 rows: hidden and waiting reviews, photos, a state that Loox does not document."""
    rng = random.Random(10)
    states = {2: "Hidden", 5: "Pending", 8: "Draft"}
    return _csv(
        [
            {
                "id": f"{_code(rng, 8)}-{number}",
                "status": states.get(number, "Active"),
                "rating": rng.randint(1, 5),
                "email": f"buyer{number}@mail.example",
                "nickname": "" if number == 6 else rng.choice(NAMES),
                "full_name": rng.choice(NAMES),
                "review": "" if number == 4 else _text(rng),
                "date": f"{_moment(rng):%Y-%m-%dT%H:%M:%S.000Z}",
                "productId": 900 + number % 3,
                "handle": f"mug-{number % 3}",
                "img": "https://images.example/1.jpg" * (number % 4 == 0),
                "variant": "M",
                "verified_purchase": str(number % 2 == 0).lower(),
            }
            for number in range(14)
        ]
    )


def okendo() -> bytes:
    """Return 12 rows without ids: reviews without a name, photos, recommendations."""
    rng = random.Random(11)
    return _csv(
        [
            {
                "name": "" if number == 6 else rng.choice(NAMES),
                "body": _text(rng),
                "handle": f"mug-{number % 3}",
                "productId": 900 + number % 3,
                "rating": 0 if number == 3 else rng.randint(1, 5),
                "sku": "",
                "dateCreated": f"{_moment(rng):%Y-%m-%d}",
                "countryCode": rng.choice(["us", ""]),
                "email": f"buyer{number}@mail.example",
                "imageUrls": "https://o.example/1.jpg, https://o.example/2.jpg" * (number % 4 == 0),
                "title": _text(rng, 3),
                "isRecommended": rng.choice(["TRUE", "FALSE", ""]),
            }
            for number in range(12)
        ]
    )


def shopify() -> bytes:
    """Return 12 rows without ids: replies, unpublished reviews and spam."""
    rng = random.Random(12)
    states = {2: "unpublished", 7: "spam"}
    return _csv(
        [
            {
                "product_handle": f"mug-{number % 3}",
                "state": states.get(number, "published"),
                "rating": rng.randint(1, 5),
                "title": _text(rng, 3),
                "author": "" if number == 6 else rng.choice(NAMES),
                "email": f"buyer{number}@mail.example",
                "location": "Leeds" * (number % 2),
                "body": _text(rng),
                "reply": "Thank you!" * (number % 5 == 0),
                "created_at": f"{_moment(rng):%Y-%m-%d %H:%M:%S UTC}",
                "replied_at": f"{_moment(rng):%Y-%m-%d %H:%M:%S UTC}" * (number % 5 == 0),
            }
            for number in range(12)
        ]
    )


def woocommerce() -> bytes:
    """Return 12 lines with HTML: reviews on hold, spam, a comment without a rating."""
    rng = random.Random(13)
    states = {2: "hold", 5: "spam", 7: "trash"}
    return _lines(
        [
            {
                "id": 20 + number,
                "date_created": f"{_moment(rng):%Y-%m-%dT%H:%M:%S}",
                "date_created_gmt": f"{_moment(rng):%Y-%m-%dT%H:%M:%S}",
                "product_id": 900 + number % 3,
                "product_name": f"Mug no. {number % 3}",
                "product_permalink": f"https://shop.example/mug-{number % 3}",
                "status": states.get(number, "approved"),
                "reviewer": rng.choice(NAMES).replace("'", "&#039;"),
                "reviewer_email": f"buyer{number}@mail.example",
                "review": f"<p>{_text(rng)}<br />\n<b>Small &amp; light</b></p>\n",
                "rating": 0 if number == 3 else rng.randint(1, 5),
                "verified": number % 2 == 0,
                "reviewer_avatar_urls": {"24": "https://avatar.example/1.png"},
            }
            for number in range(12)
        ]
    )


SAMPLES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "amazon-2014": ("reviews_Home.json.gz", amazon_2014),
    "amazon-2018": ("Home.json.gz", amazon_2018),
    "amazon-2023": ("Home.jsonl.gz", amazon_2023),
    "yelp": ("yelp_academic_dataset_review.json", yelp),
    "judgeme": ("judgeme-reviews.csv", judgeme),
    "yotpo": ("yotpo-reviews.csv", yotpo),
    "wix": ("wix-reviews.jsonl", wix),
    "bazaarvoice": ("bv_shop_standard_client_feed.xml", bazaarvoice),
    "loox": ("loox-reviews.csv", loox),
    "okendo": ("okendo-reviews.csv", okendo),
    "shopify": ("shopify-reviews.csv", shopify),
    "woocommerce": ("woocommerce-reviews.jsonl", woocommerce),
}
"""For each preset, the name of its sample and the function that returns the content."""
