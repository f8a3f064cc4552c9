"""The sentences of invitations."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dal.dynamodb.table import Table
from dal.model import OrderStatus
from dal.stores import Stores
from dal.table.errors import DalError
from features.invitations.errors import LinkRevokedError, LinkUsedError
from features.invitations.links import LinkGrant, LinkSigner, claims_of
from features.invitations.model import link_of
from features.invitations.resolvers import valid_days
from resolvers.authorization import ForbiddenError, require_viewer
from resolvers.context import Context
from server.auth.claims import ClaimRules, InvalidTokenError
from tests.features.invitations.shop import link
from tests.features.invitations.test_commands import FILE, SHOP, files
from tests.features.invitations.test_due import shipped
from tests.putting import put_orders
from tests.server.serving import called


def signed(sign: Callable[..., str | None], site: str | None) -> object:
    return LinkSigner(sign, site).signed(link("p"))


def of(product_id: str) -> object:
    return asyncio.run(LinkGrant(link("p")).permission(CONTEXT, product_id))


def claims(**changes: object) -> object:
    return link_of({**claims_of(link("p")), "products": ["p"], **changes})


def scoped() -> object:
    given = {**claims_of(link("p")), "iss": "marginalia", "scope": "admin"}
    return ClaimRules().bearer(given, by_secret=True)


CONTEXT = Context(None, None, grant=LinkGrant(link("p")))  # type: ignore[arg-type] # reads nothing
MESSAGES: list[tuple[Callable[[], object], str]] = [
    (
        lambda: require_viewer(CONTEXT),
        (
            "This link only permits comments on its products, and edits of them until they are "
            "published: sign in for everything else."
        ),
    ),
    (
        lambda: of("q"),
        "productId 'q' is not a product of this link. Comment on a product of the link.",
    ),
    (scoped, "This server does not know the JWT's scope 'admin'."),
    (lambda: claims(order=5), "order is not a text."),
    (lambda: claims(products=[]), "products is not a list of 1 to 20 product ids."),
    (lambda: claims(iat="now"), "iat is not a time in Unix seconds."),
    (
        lambda: signed(lambda _: "x", None),
        "This server cannot make links, because it does not know the address of its pages.",
    ),
    (
        lambda: signed(lambda _: None, "https://shop.example"),
        "This server cannot make links, because it has no secret to sign them.",
    ),
    (
        lambda: signed(lambda _: "x" * 4001, "https://shop.example"),
        "orderId 'o1' and the other ids and names of this order are too long for a link.",
    ),
    (lambda: valid_days("days", 0), "days 0 is not a number from 1 to 400."),
]
"""Functions that raise an error, and the error's sentence."""


@pytest.mark.parametrize(("given", "sentence"), MESSAGES)
def test_a_refusal_has_a_sentence(given: Callable[[], object], sentence: str) -> None:
    with pytest.raises((DalError, ForbiddenError, InvalidTokenError)) as refused:
        given()
    assert str(refused.value) == sentence


def test_links_that_have_ended_have_a_sentence() -> None:
    assert str(LinkRevokedError()) == "The shop has revoked this link."
    assert str(LinkUsedError()) == (
        "You have already commented on this product with this link. You can edit the comment "
        "until it is published."
    )
    assert LinkSigner.missing == "This server does not make links."


async def test_orders_that_cannot_be_invited_have_a_sentence(table: Table) -> None:
    await put_orders(table, [replace(shipped(9), status=OrderStatus.CANCELLED)])
    store = Stores(table).invitations
    for given, sentence in (
        (store.of_order("none"), "Order not found."),
        (store.of_order("o9"), "orderId 'o9' is a cancelled order."),
        (
            store.revoke("none", None),
            "Order not found. Name its customer if it is not stored here.",
        ),
    ):
        with pytest.raises(DalError) as refused:
            await given
        assert str(refused.value) == sentence


_NO_OTHER = "cannot be used together: remove one of them."
REFUSED: dict[str, tuple[list[str], str]] = {
    "revoke and keep": (["--revoke", "o1", "--keep"], f"--revoke and --keep {_NO_OTHER}"),
    "from and order": (["--from", "f", "--order", "o1"], f"--from and --order {_NO_OTHER}"),
    "order and wait": (["--order", "o1", "--wait", "2"], f"--order and --wait {_NO_OTHER}"),
    "user": (
        ["--user", "ann"],
        "--user names the customer of --revoke: add --revoke, or remove --user.",
    ),
    "missing file": (["--from", "none"], "none cannot be read: No such file or directory."),
    "unknown order": (["--order", "none"], "Order none is not stored: correct --order."),
    "cancelled order": (
        ["--order", "o9"],
        "Order o9 is cancelled: leave it out of --order.",
    ),
    "unknown revoked order": (
        ["--revoke", "none"],
        "Order none is not stored: name its customer with --user.",
    ),
    "blank incentive": (
        ["--incentive", " "],
        "--incentive is empty: write something.",
    ),
    "existing file": (["--output", "there"], "there exists: name a new file."),
    "wrong folder": (
        ["--output", "none/links.csv"],
        "none/links.csv cannot be written: No such file or directory.",
    ),
}
"""Arguments that the command refuses, with its sentence."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", REFUSED)
async def test_bad_options_have_one_sentence(
    table: Table, store: list[str], folder: Path, case: str
) -> None:
    (folder / "there").touch()
    await put_orders(table, [replace(shipped(9), status=OrderStatus.CANCELLED)])
    arguments, sentence = REFUSED[case]
    ended = called("invite", *arguments, *store, **SHOP)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"marginalia: {sentence}\n"


_COLUMNS = (
    "its first line must name the columns order, username, products, and name if it has names."
)
_NO_ACCOUNT = "is the id of an imported or erased author, who has no account."
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (
        b"",
        f"f lacks the column order: {_COLUMNS}",
    ),
    "only names": (b"order,username,products\n", "f has no orders."),
    "a missing column": (
        b"order,username\n1,ann\n",
        f"f lacks the column products: {_COLUMNS}",
    ),
    "no products": (b"order,username,products\n1,ann, \n", "f, line 2: products is empty."),
    "a short row": (b"order,username,products\n1\n", "f, line 2: username is empty."),
    "no order": (b"order,username,products\n,ann,p\n", "f, line 2: order is empty."),
    "an erased user": (
        b"order,username,products\n1,erased-12345678,p\n",
        f"f, line 2: username 'erased-12345678' {_NO_ACCOUNT}",
    ),
    "two users": (
        b"order,username,products\n1,ann,p\n1,bob,q\n",
        "f, line 3: order 1 has another username or name in an earlier line.",
    ),
    "another encoding": (
        "order,username,products\n1,ann,é\n".encode("latin-1"),
        "f is not a text in UTF-8: save it as UTF-8.",
    ),
    "an open quote": (
        b'order,username,products\n1,"ann,p\n',
        "f is not a CSV file: unexpected end of data.",
    ),
}
"""Files that the command refuses, with its sentence."""


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_have_one_sentence_and_no_output(folder: Path, case: str) -> None:
    content, sentence = BAD_FILES[case]
    Path("f").write_bytes(content)
    ended = called("invite", "--from", "f", "--output", "links.csv", **SHOP)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"marginalia: {sentence}\n"
    assert files(folder) == ["f"]


def test_links_need_an_address_and_a_secret(folder: Path) -> None:
    del folder
    Path("f").write_text(FILE)
    no_secret = {name: value for name, value in SHOP.items() if "SECRET" not in name}
    no_site = {name: value for name, value in SHOP.items() if "URL" not in name}
    assert called("invite", "--from", "f", **no_site).stderr == (
        "marginalia: --public-url is missing: set it to the address of the pages, such as "
        "https://shop.example.\n"
    )
    assert called("invite", "--from", "f", **no_secret).stderr == (
        "marginalia: data has no secret of a server: change --data-dir to the server's directory, "
        "or set MARGINALIA_JWT_SECRET to the server's secret.\n"
    )
