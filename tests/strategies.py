"""Hypothesis strategies: valid values with many ties and special characters."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from dal.model import (
    RATINGS,
    AspectRating,
    Comment,
    CommentSource,
    Money,
    Order,
    OrderLine,
    OrderStatus,
    Organization,
    OrganizationUser,
    Photo,
    ProductDetails,
    Reply,
    Ticket,
    TicketStatus,
    UserType,
    rules,
)
from dal.model.submissions import ReviewCause, Submission, SubmissionState
from dal.table.key_parts import UNFIT_FOR_KEYS

MORE = settings(max_examples=2 * settings().max_examples)
"""For properties whose examples send no request."""

FEW = settings(max_examples=settings().max_examples // 3)
"""For properties whose examples send dozens of requests. `make soak` tries hundreds of examples."""

LANGUAGES = ("en", "de", "pt-BR")
TIES = tuple(datetime(2020, 2, day, tzinfo=UTC) for day in (27, 28, 29))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_UNFIT = "".join(UNFIT_FOR_KEYS.findall("".join(map(chr, range(sys.maxunicode + 1)))))
in_identifiers = st.characters(exclude_characters=_UNFIT)
"""Characters that are valid in identifiers."""
plain_identifiers = st.text(in_identifiers, min_size=1, max_size=20)
awkward_identifiers = st.text(
    "/#%2F35a\ud7ff\ue000\uffff\U00010000\U0010fffe", min_size=1, max_size=6
)
identifiers = (awkward_identifiers | plain_identifiers).map(rules.trimmed).filter(bool)
instants = st.sampled_from(TIES) | st.datetimes(timezones=st.just(UTC))

names = st.none() | st.sampled_from(["Ana Pérez", "Zoë / 50 % #1 🙂"])
"""Display names of owners, as stored in objects."""

aspects = st.dictionaries(
    st.sampled_from(["fit", "quality", "a_n_s", "x" * 20]), st.sampled_from(RATINGS), max_size=3
).map(lambda given: tuple([AspectRating(*one) for one in given.items()]))

comments = st.builds(
    Comment,
    comment_id=identifiers,
    product_id=identifiers,
    username=identifiers,
    rating=st.sampled_from(RATINGS),
    language=st.sampled_from(LANGUAGES),
    title=texts,
    text=texts,
    created_at=instants,
    updated_at=st.none() | instants,
    verified_purchase=st.booleans(),
    name=names,
    touched_at=st.none() | instants,
    reply=st.none() | st.builds(Reply, texts, instants),
    votes=st.integers(0, 10**6),
    votes_before=st.integers(0, 2),
    photos=st.lists(st.builds(Photo, texts, texts), max_size=2).map(tuple),
    source=st.sampled_from(CommentSource),
    incentive=st.none() | texts,
    aspects=aspects,
)

submissions = st.builds(
    lambda comment, **others: Submission(**comment._asdict(), **others),
    comments,
    state=st.sampled_from(SubmissionState),
    cause=st.none() | st.sampled_from(ReviewCause),
    queued_at=instants,
    reason=st.none() | texts,
    decided_at=st.none() | instants,
)


ORDINARY = Comment(
    comment_id="1",
    product_id="42",
    username="ana",
    rating=5,
    language="en",
    title="Good",
    text="It does what it says.",
    created_at=TIES[0],
)


def comment(comment_id: str = "1", **fields: Any) -> Comment:
    """Return a comment with default values, except ``fields``."""
    return ORDINARY._replace(comment_id=comment_id, **fields)


details = st.builds(
    ProductDetails, texts, texts, texts, st.just("") | identifiers, texts, texts, texts
)

order_lines = st.lists(
    st.builds(
        OrderLine,
        identifiers,
        st.integers(1, 10_000),
        st.builds(
            Money,
            st.decimals(0, 10**11, places=2),
            st.just("EUR"),
        ),
    ),
    min_size=1,
    max_size=4,
).map(tuple)
orders = st.builds(
    Order,
    order_id=identifiers,
    username=identifiers,
    status=st.sampled_from(OrderStatus),
    created_at=instants,
    lines=order_lines,
    name=names,
)

TWO_MUGS = (OrderLine("42", 2, Money(Decimal("12.50"), "EUR")),)


def order(order_id: str = "1", **fields: Any) -> Order:
    """Return an order with default values, except ``fields``."""
    ordinary = Order(
        order_id=order_id,
        username="ana",
        status=OrderStatus.PLACED,
        created_at=TIES[0],
        lines=TWO_MUGS,
    )
    return replace(ordinary, **fields)


organizations = st.builds(Organization, identifiers, texts)
organization_users = st.builds(
    OrganizationUser, identifiers, identifiers, st.sampled_from(UserType)
)
tickets = st.builds(
    Ticket,
    ticket_id=identifiers,
    organization=identifiers,
    username=identifiers,
    subject=texts,
    text=texts,
    created_at=instants,
    status=st.sampled_from(TicketStatus),
    name=names,
)
