"""The functions that read a client's text, and texts that could make them slow.

They are the regular expressions of the product, and every other function that scans a text, also of
libraries.
"""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import chain, islice, product
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from graphql import GraphQLError
from graphql import parse as parse_document
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from strawberry.relay.utils import to_base64

from dal.model import rules
from dal.query.cursors import decode_cursor
from dal.table.errors import DalError
from dal.table.key_parts import escape, unescape
from pages import i18n
from pages.addresses import Filters
from pages.faults import PageFault
from pages.paths import PATHS
from pages.sessions import cookies, pasted_jwt
from resolvers.node_ids import parse_node_id, plain_id
from schema.build import build_schema
from schema.errors import KNOWN_ERRORS
from schema.execution.documents import DocumentCache, units_of
from schema.execution.errors import client_error
from schema.execution.input_errors import variable_errors
from schema.execution.selections import operations_of
from schema.types import SCALARS
from server.http.admission import Clients
from server.http.middleware import is_allowed, matching, request_id_of
from server.http.request import preferred, request_of
from server.observability.signals import route_of
from tests.engines import ROOT

REFUSALS = (DalError, GraphQLError, HTTPException, PageFault, ValueError)
"""The errors by which the functions refuse a text."""

PRODUCT = ("dal", "features", "pages", "resolvers", "schema", "server")

OPERATORS = {
    "features/analytics/clickhouse_store.py",
    "server/cli/commands/token.py",
    "features/loading/text_rows.py",
}
"""Modules that use ``re`` inside functions, only for settings, options and files of operators."""

METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class Expression(NamedTuple):
    """A compiled regular expression, and the methods that its module calls."""

    name: str
    pattern: "re.Pattern[Any]"
    methods: Sequence[str]


def calls_of_re(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "re" and node.func.attr != "escape":
                yield node


def methods_in(tree: ast.AST) -> dict[str, set[str]]:
    """Return the methods of expressions that a module calls, by the expression's name."""
    found = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            found[node.value.id if isinstance(node.value, ast.Name) else ""].add(node.attr)
    return found


def patterns_in(value: object) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        yield from chain.from_iterable(map(patterns_in, value))


def expressions() -> Iterator[Expression]:
    """Yield the product's expressions. Fail for an expression that cannot be found."""
    for path in sorted(chain.from_iterable((ROOT / one).rglob("*.py") for one in PRODUCT)):
        where = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text("utf-8"))
        uses = sum(1 for _ in calls_of_re(tree))
        if not uses:
            continue
        methods = methods_in(tree)
        module = importlib.import_module(where.removesuffix(".py").replace("/", "."))
        found = 0
        for statement in tree.body:
            if not isinstance(statement, ast.Assign) or not any(calls_of_re(statement)):
                continue
            found += sum(1 for _ in calls_of_re(statement))
            names = [one.id for one in ast.walk(statement.targets[0]) if isinstance(one, ast.Name)]
            patterns = [one for name in names for one in patterns_in(getattr(module, name))]
            assert patterns, f"{where}: {names} hold no compiled expression"
            for number, pattern in enumerate(patterns):
                called = methods.get(names[0]) or set().union(*methods.values())
                yield Expression(f"{where}:{names[0]}:{number}", pattern, sorted(called))
        assert found == uses or where in OPERATORS, (
            f"{where} uses re inside a function: compile the expression beside the imports."
        )


_CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a"}


def alphabet(parsed: Any) -> Iterator[str]:
    """Yield characters that match the parts of an expression: one each, three of a set."""
    for part in parsed if isinstance(parsed, list | tuple | _parser.SubPattern) else ():
        match part:
            case (_constants.LITERAL, value):
                yield chr(value)
            case (_constants.NOT_LITERAL, value):
                yield chr(value + 1)
            case (_constants.RANGE, (first, _)):
                yield chr(first)
            case (_constants.IN, members):
                yield from islice(alphabet(members), 3)
            case (_constants.CATEGORY, value):
                yield _CATEGORIES.get(str(value), " ")
            case _:
                yield from alphabet(part)


def words(parsed: Any) -> Iterator[str]:
    """Yield the runs of literal characters of a part of an expression."""
    word = ""
    for part in parsed if isinstance(parsed, list | tuple | _parser.SubPattern) else ():
        match part:
            case (_constants.LITERAL, value):
                word += chr(value)
            case _:
                yield word
                word = ""
                yield from words(part)
    yield word


def tokens_of(pattern: "re.Pattern[Any]") -> list[str]:
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    return [*dict.fromkeys(chain(alphabet(parsed), filter(None, words(parsed)), "!"))]


Text = Callable[[int], str]
"""Returns a text with about this number of characters."""


def repeated(token: str, before: str, behind: str, n: int) -> str:
    return before + token * (n // len(token)) + behind


def repeats(tokens: Iterable[str]) -> Iterator[tuple[str, Text]]:
    """Yield texts that repeat one or two tokens, with another token before or after them."""
    for one, other in product(tokens, repeat=2):
        if one <= other:  # the reverse order gives the same text except for its ends
            both = one + other
            yield f"{both!r} * n", partial(repeated, both, "", "")
        if one != other:
            yield f"{one!r} * n + {other!r}", partial(repeated, one, "", other)
            yield f"{other!r} + {one!r} * n", partial(repeated, one, other, "")


SCHEMA = build_schema()
(OPERATION,) = operations_of(parse_document("query($x: AddCommentInput) { __typename }"))


class Scanner(NamedTuple):
    scan: Callable[[str], object]
    tokens: str
    """Tokens, separated by spaces. A space is always another token."""


def coerced(scalar: object, text: str) -> object:
    parse = SCALARS[scalar].parse_value
    assert parse is not None
    return parse(text)


def checked(document: str) -> None:
    DocumentCache(SCHEMA._schema, SCHEMA.facts).checked(document)


def told(message: str) -> object:
    return client_error(GraphQLError(message), KNOWN_ERRORS).formatted


def asked_by_get(query: str) -> object:
    return request_of(dict(QueryParams(query)))


SCANNERS = {
    "units of a document": Scanner(units_of, '" \\ """ # \n a 1 - . ... { ( [ $ ! @'),
    "a document": Scanner(checked, '" \\ """ # \n a 1 ... { } ( : ... ,'),
    "a field's document": Scanner(lambda text: checked(f"{{{text}}}"), "a a:b a{b} ...a @a ["),
    "a string in a document": Scanner(
        lambda text: checked(f'{{product(productId:"""{text}""") {{id}}}}'),
        '" \\ \\""" \n \\u a',
    ),
    "a value of a wrong type": Scanner(
        lambda text: variable_errors(SCHEMA._schema, OPERATION, {"x": text}), "' . ? : , found: é"
    ),
    "an unknown field": Scanner(
        lambda text: variable_errors(SCHEMA._schema, OPERATION, {"x": {text: 1}}),
        "' . ? '. , found: Found: text",
    ),
    "an error": Scanner(told, "' . ? a \n"),
    "an identifier": Scanner(partial(rules.identifier, "id"), "# / % a é \x00 \ud800"),
    "an escaped identifier": Scanner(escape, "# / % a é"),
    "a part of a key": Scanner(unescape, "% %23 # %e9 a 2"),
    "a global id": Scanner(
        lambda text: parse_node_id("id", text, "Product"), "a = + / UHJvZHVjdDox -"
    ),
    "an own id": Scanner(partial(plain_id, "productId"), "a = + / UHJvZHVjdDox -"),
    "an id of two names": Scanner(
        lambda text: parse_node_id("id", to_base64("OrganizationUser", text), "OrganizationUser"),
        "# / % %23 a",
    ),
    "a cursor": Scanner(decode_cursor, "a = - _ EQ"),
    "a title": Scanner(partial(rules.stated_title, "title"), "\x00 \u202e a \ud800 \n"),
    "a text": Scanner(partial(rules.stated_text, "text"), "\x00 \u202e a \ud800 \n"),
    "an e-mail address": Scanner(partial(rules.email, "email"), "a @ . \n"),
    "an address": Scanner(partial(rules.address, "url"), "https:// / \\ @ : [ ] a 1"),
    "a language": Scanner(partial(rules.language, "language"), "a - x 1 _ en-"),
    "an amount": Scanner(partial(rules.money, "amount"), "1 . EUR E -"),
    "a decimal": Scanner(partial(coerced, Decimal), "1 . - e 0 _"),
    "an instant": Scanner(partial(coerced, datetime), "1 - : T Z . + 2024-12-01T00:00:00"),
    "a query string": Scanner(asked_by_get, "a = & % %2 + query= variables={ ;"),
    "a form": Scanner(lambda text: Filters.of(QueryParams(text)), "rating= & 1 from= = %"),
    "Accept": Scanner(lambda text: preferred(text, ["text/html"]), "a / , ; q= * . 1"),
    "Accept-Language": Scanner(lambda text: i18n.negotiated(None, None, text), "a - , ; q= 1 ."),
    "If-None-Match": Scanner(lambda text: matching(text, '"a"'), f'" {"a" * 32} - W/ , *'),
    "Origin": Scanner(
        lambda text: is_allowed(text, [], local=True), "http:// localhost : 1 [::1] /"
    ),
    "X-Request-ID": Scanner(
        lambda text: request_id_of([(b"x-request-id", text.encode())]), "a . : = \n"
    ),
    "X-Forwarded-For": Scanner(lambda text: Clients([]).at(text), "1 . : , % a 0 ::"),
    "a pasted JWT": Scanner(pasted_jwt, "a . - eyJ eyJhbGciOiJIUzI1NiJ9. Bearer ! {"),
    "Cookie": Scanner(
        lambda text: cookies(Request({"type": "http", "headers": [(b"cookie", text.encode())]})),
        'a = ; " \\ \\" marginalia_lang=',
    ),
    "a path": Scanner(
        lambda text: route_of({"type": "http", "path": text}, PATHS),
        "/ products comments a health % .",
    ),
}
"""Every other function that scans a client's text, also of libraries."""
