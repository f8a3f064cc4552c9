"""Comments: a comment by its id, and mutations of comments."""

import logging
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import strawberry

from dal.errors import NotBoughtError
from dal.model import Comment, Photo, Product, rules
from dal.query.pagination import Edge
from dal.table.errors import InvalidArgumentError
from dal.writes.comments import Stored, Written
from resolvers import shop_aspects
from resolvers.authorization import (
    MERCHANT,
    is_moderator,
    may_change,
    require_grant,
    require_role,
    require_viewer,
)
from resolvers.context import NO_DETAILS, CommentReads, Context, Grant, ProductReads
from resolvers.mutations import (
    Fields,
    NullIsDefault,
    Rule,
    changed,
    checked,
    checked_each,
    reported,
)
from resolvers.node_ids import own_id_of, plain_id
from resolvers.photo_files import PhotoFiles
from resolvers.selection import Info, Input, is_alone

_audit = logging.getLogger("audit")

_PHOTO: Mapping[str, Rule] = {"url": rules.photo_address, "alt": rules.alternative_text}


def _photos(argument: str, given: Sequence[object]) -> tuple[Photo, ...]:
    photos = checked_each(argument, rules.few(argument, given, rules.MAX_PHOTOS), _PHOTO)
    return tuple(Photo(**one) for one in photos)


_STATED: Mapping[str, Rule] = {
    "rating": rules.rating,
    "language": rules.language,
    "title": rules.title,
    "photos": _photos,
}
_WHICH: Mapping[str, Rule] = {"id": own_id_of("Comment", "Submission")}
_NEW = {"product_id": plain_id, **_STATED, "idempotency_key": rules.identifier}
_CHANGES = {**_WHICH, **_STATED}
_REPLIED = {**_WHICH, "text": rules.stated_reply}


@strawberry.input(description="A photo of a comment.")
class PhotoInput(NullIsDefault):
    """A photo of a comment: its URL and its description."""

    url: str = strawberry.field(description="HTTPS URL of the photo. Maximum 2,048 characters.")
    alt: str = strawberry.field(
        default="",
        graphql_type=str | None,
        description="Description of the photo for users who cannot see it. Maximum 200 characters.",
    )


@strawberry.input(description="A new comment. Its author is the signed-in user.")
class AddCommentInput(NullIsDefault):
    """Input of ``addComment``."""

    product_id: strawberry.ID = strawberry.field(description="The shop's product id.")
    rating: int = strawberry.field(description="Rating from 1 to 5.")
    language: str = strawberry.field(
        description="Language, as a BCP 47 tag such as `en` or `pt-BR`. Stored in canonical form: "
        "`EN-us` as `en-US`, `iw` as `he`."
    )
    title: str = strawberry.field(
        default="", graphql_type=str | None, description="Title. Maximum 200 characters."
    )
    text: str = strawberry.field(
        description="Plain text. Maximum 10,000 characters. May be empty if the shop allows "
        "ratings without text."
    )
    photos: list[PhotoInput] | None = strawberry.field(
        default=None, description="Photos, in the order to show them. Maximum 10."
    )
    aspects: list[shop_aspects.AspectInput] | None = strawberry.field(
        default=None,
        description="Ratings of some of the shop's aspects, each at most once. Maximum 6.",
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Text that identifies the comment in retries. If a user sends several "
        "requests with the same key, only one comment is stored.",
    )


@strawberry.input(description="Fields to change. An omitted field keeps its value.")
class UpdateCommentInput:
    """Input of ``updateComment``: new values of some fields."""

    id: strawberry.ID = strawberry.field(
        description="Global `id` of the comment or the submission."
    )
    rating: int | None = strawberry.field(
        default=strawberry.UNSET, description="Rating from 1 to 5. Must not be null."
    )
    language: str | None = strawberry.field(
        default=strawberry.UNSET, description="Language, as a BCP 47 tag. Must not be null."
    )
    title: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Title. Maximum 200 characters. Null or an empty string removes the title.",
    )
    text: str | None = strawberry.field(
        default=strawberry.UNSET,
        description="Plain text. Maximum 10,000 characters. If the shop allows ratings without "
        "text, null or an empty string removes the text. Otherwise both are errors.",
    )
    photos: list[PhotoInput] | None = strawberry.field(
        default=strawberry.UNSET,
        description="All photos of the comment, in the order to show them. Maximum 10. Null or "
        "an empty list removes all photos.",
    )
    aspects: list[shop_aspects.AspectInput] | None = strawberry.field(
        default=strawberry.UNSET,
        description="All ratings of the shop's aspects of the comment, each aspect at most once. "
        "Maximum 6. Null or an empty list removes all these ratings.",
    )


@strawberry.input(description="The comment to delete.")
class DeleteCommentInput:
    """The comment to delete."""

    id: strawberry.ID = strawberry.field(
        description="Global `id` of the comment or the submission."
    )


@strawberry.input(description="The shop's reply to a comment.")
class ReplyToCommentInput:
    """Input of ``replyToComment``: a comment, and the shop's reply."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the comment.")
    text: str = strawberry.field(description="Plain text. Maximum 2,000 characters.")


@strawberry.input(description="The comment from which to remove the reply.")
class RemoveReplyInput:
    """Input of ``removeReply``: the comment."""

    id: strawberry.ID = strawberry.field(description="Global `id` of the comment.")


def _fields_of(written: Written) -> Fields:
    """Return the fields of a payload: the published comment with its edge, or the submission.

    The statistics of the product are read when selected.
    """
    edge = written if isinstance(written, Edge) else None
    one = written.node if isinstance(written, Edge) else written
    return {
        "comment": edge and edge.node,
        "comment_edge": edge,
        "submission": None if edge else one,
        "product": Product(one.product_id),
    }


_WITHOUT = dict.fromkeys(("comment", "comment_edge", "submission", "product"))


async def comment(
    info: Info,
    comment_id: Annotated[
        strawberry.ID,
        strawberry.argument(description="Comment id, as in the URL of the comment's page."),
    ],
) -> Comment | None:
    """Return the published comment with this id; None if it does not exist."""
    own_id = plain_id("commentId", comment_id)
    if is_alone(info):  # no other field needs a comment in the same request to DynamoDB
        return await info.context.stores.comments.get(own_id)
    return await load(info, own_id)


async def load(info: Info, comment_id: str) -> Comment | None:
    """Return the published comment with this id, for ``node``, which has checked the id."""
    return await info.context.part(CommentReads).load(comment_id)


def incentive(root: strawberry.Parent[Stored]) -> str | None:
    """Return the text that names a comment's incentive; None without a text."""
    return root.incentive or None


def helpful_count(root: strawberry.Parent[Comment]) -> int:
    """Return the number of helpful votes that is stored in a comment."""
    return root.helpful_count


@reported(**_WITHOUT, reads_standing=True)
async def add_comment(info: Info, input: Input[AddCommentInput]) -> Fields:
    """Store a new comment of the grant's author.

    If the viewer has received the product, or a product of its group, the comment has
    ``verifiedPurchase``. The server's ``Publication`` decides whether the comment waits for a
    moderator. The result has the error NOT_BOUGHT if the server accepts comments only from buyers,
    and the viewer has received none of these products.
    """
    context = info.context
    grant = require_grant(context)
    viewer = grant.author
    stated = checked(input, _NEW | _shop_rules(context))
    if context.known_products_only:
        await _require_known(context, stated["product_id"])
    key = stated.pop("idempotency_key", None)
    permission = await grant.permission(context, stated["product_id"])
    if context.buyers_only and not permission.bought:
        raise NotBoughtError
    await _publish(context, grant, stated)
    new = Comment(
        comment_id=secrets.token_hex(16),
        username=viewer.user_id,
        created_at=datetime.now(UTC),
        verified_purchase=permission.bought,
        name=rules.name_unless(viewer.user_id, viewer.name),
        **stated,
    )
    added = context.publication.added
    hold = partial(added, permission, moderator=is_moderator(viewer))
    return _fields_of(await grant.add(context, new, key, hold))


async def _publish(
    context: Context, grant: Grant, stated: dict[str, Any], edited_id: str | None = None
) -> None:
    """Copy the author's uploaded photos, and put the copies' URLs into ``stated``.

    ``stated`` is the checked input. ``edited_id`` is the id of the edited comment; None for a new
    comment.
    """
    photos = stated.get("photos")
    files: PhotoFiles | None = context.services.get(PhotoFiles)
    if files is None or not photos:
        return
    if edited_id is not None:
        # Check the author's permission before the photos are copied, because copies for a refused
        # edit would remain in the bucket. ``rewrite`` writes nothing, because the callback returns
        # None.
        await context.stores.comments.rewrite(edited_id, lambda _, one: grant.may_change(one))
    stated["photos"] = await files.published(grant.author.user_id, photos)


def _shop_rules(context: Context) -> dict[str, Rule]:
    return {
        "text": rules.optional_text if context.allow_empty_text else rules.stated_text,
        "aspects": partial(shop_aspects.stated, shop_aspects.names_of(context)),
    }


async def _require_known(context: Context, product_id: str) -> None:
    """Raise InvalidArgumentError unless the shop has stored details of the product."""
    if await context.part(ProductReads).details.load(product_id) == NO_DETAILS:
        raise InvalidArgumentError(
            "productId",
            f"productId {product_id!r} is not a product of this shop. Comment on a listed product.",
        )


@reported(**_WITHOUT, reads_standing=True)
async def update_comment(info: Info, input: Input[UpdateCommentInput]) -> Fields:
    """Edit a comment: the author's own, or any comment if the author is a moderator."""
    context = info.context
    grant = require_grant(context)
    viewer = grant.author
    clearable = {"title", "text", "photos", "aspects"}
    changes = changed(input, _CHANGES | _shop_rules(context), clearable)
    permission = await grant.permission(context)
    edited = context.publication.edited
    comment_id = changes.pop("id")
    await _publish(context, grant, changes, comment_id)

    def edit(old: Stored, new: Stored) -> Stored:
        if "aspects" in changes:
            new = shop_aspects.with_hidden(context, old, new)
        return edited(permission, old, new, moderator=is_moderator(viewer))

    written = await context.stores.comments.update(comment_id, changes, grant.may_change, edit)
    return _fields_of(written)


@reported(deleted_id=None, product=None)
async def delete_comment(info: Info, input: Input[DeleteCommentInput]) -> Fields:
    """Delete a comment: the viewer's own, or any comment if the viewer is a moderator."""
    check = partial(may_change, require_viewer(info.context))
    gone = await info.context.stores.comments.delete(checked(input, _WHICH)["id"], check)
    return {"deleted_id": input.id, "product": Product(gone.product_id)}


@reported(comment=None, product=None)
async def reply_to_comment(info: Info, input: Input[ReplyToCommentInput]) -> Fields:
    """Set the shop's reply to a published comment. For merchants."""
    viewer = require_role(info.context, MERCHANT, "reply to comments")
    given = checked(input, _REPLIED)
    comment, replied = await info.context.stores.comments.reply(given["id"], given["text"])
    if replied:
        _audit.info("%s replied to the comment %s.", viewer.user_id, given["id"])
    return {"comment": comment, "product": Product(comment.product_id)}


@reported(comment=None, product=None)
async def remove_reply(info: Info, input: Input[RemoveReplyInput]) -> Fields:
    """Remove the shop's reply from a published comment. For merchants."""
    viewer = require_role(info.context, MERCHANT, "remove replies")
    comment_id = checked(input, _WHICH)["id"]
    comment, removed = await info.context.stores.comments.reply(comment_id, None)
    if removed:
        _audit.info("%s removed the reply to the comment %s.", viewer.user_id, comment_id)
    return {"comment": comment, "product": Product(comment.product_id)}
