"""Moderators block users, end blocks, and list the blocked users."""

from collections.abc import Mapping
from typing import Unpack

import strawberry

from dal.model import rules
from dal.model.own_ids import global_id
from dal.model.standings import Block
from dal.query.pagination import Page
from resolvers.authorization import MODERATOR, require_role
from resolvers.mutations import Fields, Rule, checked, reported
from resolvers.node_ids import plain_account
from resolvers.selection import (
    Info,
    Input,
    PageArguments,
    slice_of,
    with_arguments,
)

_WHO: Mapping[str, Rule] = {"username": plain_account}
_BLOCK = {**_WHO, "reason": rules.stated_title}


@strawberry.input(description="The user to block.")
class BlockUserInput:
    """Input of ``blockUser``: the user to block, and the reason."""

    username: str = strawberry.field(description="User name.")
    reason: str = strawberry.field(
        description="Reason for the block, which moderators see in the list of blocked users. "
        "Maximum 200 characters."
    )


@strawberry.input(description="The user to unblock.")
class UnblockUserInput:
    """The user to unblock."""

    username: str = strawberry.field(description="User name.")


def _block_id(username: str) -> strawberry.ID:
    return strawberry.ID(global_id("BlockedUser", username))


def block_id(root: strawberry.Parent[Block]) -> strawberry.ID:
    """Return the id of a blocked user."""
    return _block_id(root.username)


@reported(blocked_user=None)
async def block_user(info: Info, input: Input[BlockUserInput]) -> Fields:
    """Block a user. For moderators.

    The user's new and edited comments then wait for a moderator, and the user cannot vote.
    """
    viewer = require_role(info.context, MODERATOR, "block users")
    given = checked(input, _BLOCK)
    store = info.context.stores.blocks
    block = await store.block(given["username"], given["reason"], viewer.user_id)
    return {"blocked_user": block}


@reported(username=None, unblocked_id=None)
async def unblock_user(info: Info, input: Input[UnblockUserInput]) -> Fields:
    """End the block of a user. For moderators."""
    require_role(info.context, MODERATOR, "unblock users")
    username = checked(input, _WHO)["username"]
    await info.context.stores.blocks.unblock(username)
    return {"username": username, "unblocked_id": _block_id(username)}


@with_arguments
async def blocked_users(info: Info, **given: Unpack[PageArguments]) -> Page[Block]:
    """Return a page of the blocked users. For moderators."""
    require_role(info.context, MODERATOR, "see who is blocked")
    return await info.context.stores.blocks.page(slice_of(info, **given))
