"""Rules for valid values. GraphQL inputs and loaded files have the same rules.

A function with the parameter ``argument`` returns the valid value in its canonical form. For an
invalid value, it raises InvalidArgumentError. The error has the argument's name and a message of
one sentence.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import TypeVar
from urllib.parse import urlsplit

from dal.model import RATINGS, Money, OrderLine
from dal.model.folding import INVISIBLE
from dal.model.text_search import search_of
from dal.table.errors import InvalidArgumentError
from dal.table.key_parts import (
    MAX_IDENTIFIER_BYTES,
    TURNING,
    UNFIT_FOR_KEYS,
    escape,
)

MAX_VALUES = 100
"""Maximum values of a list in a filter, and maximum ids in the field `products`. Each value costs
CPU time, even though a page never reads more than ``MAX_SEGMENTS`` partitions."""

MAX_TITLE = 200
MAX_TEXT = 10_000
MAX_EXPLANATION = 500
"""Maximum characters of a comment's title, of its text, and of the explanation in a report."""

MAX_REPLY = 2_000
"""Maximum characters of the shop's reply. A list reads each comment with its reply, so long replies
would consume much capacity."""

MAX_PHOTOS = 10
MAX_ALT = 200
"""Maximum photos of a comment, and maximum characters of a photo's alternative text. A list reads
each comment with its photos' URLs and texts."""

MAX_TRADE_NAME = 70
"""Maximum characters of a brand or of a manufacturer's part number, as in Google's product data."""

MAX_LANGUAGE = 35
"""Maximum characters of a language tag. BCP 47 (RFC 5646, section 4.4.1) requires programs to
accept tags of this length."""

KEPT_TAGS = 10_000
"""Maximum language tags in the cache of canonical forms. A full cache is emptied."""

MAX_ADDRESS = 2_048
"""Maximum characters of a URL in a link. All browsers and crawlers accept this length."""

MAX_EMAIL = 254
"""Maximum characters of an e-mail address, by RFC 5321."""

MAX_QUANTITY = 10_000
"""Maximum quantity of an order line."""

MAX_AMOUNT = 10**12
"""Exclusive upper bound of an amount of money, in the currency's main unit, such as euros. An
amount has at most twelve digits before the decimal point."""

MAX_LINES = 90
"""Maximum lines of an order. When an order's status becomes DELIVERED, one transaction writes an
item for each product, and DynamoDB allows 100 actions in a transaction."""

Value = TypeVar("Value")

_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_HIDDEN = re.compile(f"[{_CONTROLS}{TURNING}]")
"""Characters that are removed from texts: control characters (but not tabs and line ends), and
characters that change the direction of text."""

_SHAPELESS, _BLANK_PATTERN = {"Z", "C"}, "\u2800"
"""The first letters of Unicode's categories of characters without a shape: separators (Z), and
control and format characters (C); and the empty Braille pattern, whose category is that of symbols.
"""

_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
    "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064"
    "\u206a\u206b\u206c\u206d\u206e\u206f\u2800\u3164\ufeff\uffa0"
)
"""White space, and invisible characters that are no part of a word. Joiners and variation selectors
are not in the list: names and emoji may end with them."""

_AMOUNT, _CURRENCY = r"(?P<amount>[0-9]{1,12}(?:\.[0-9]{1,4})?)", r"(?P<currency>[A-Z]{3})"
_MONEY = (re.compile(f"{_AMOUNT} {_CURRENCY}"), re.compile(f"{_CURRENCY} {_AMOUNT}"))
_PATH, _HTTPS = (
    re.compile(r"/(?![/\\])[!#-&(-;=?-\[\]_a-z~]*"),
    re.compile(r"https://[A-Za-z0-9._:\[\]-]+(?:[/?#][!#-&(-;=?-\[\]_a-z~]*)?"),
)
"""Patterns of a path on this server, and of an https URL. Both accept the characters that RFC 3986
allows in a URL, except the single quote. All other characters must be percent-encoded. The host of
a URL is never percent-encoded, because browsers decode it, and comparisons of hosts do not."""

_PRIVATE_USE = re.compile("q[a-t][a-z]")
"""The language codes that ISO 639-2 reserves for private use."""

_EXTLANG = re.compile("[a-z]{2,3}-[a-z]{3}(?:-|$)")
"""The start of a language tag whose second subtag is a language too, such as ``ar-arz``."""

_GTIN = re.compile("[0-9]{8}|[0-9]{12,14}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


@cache
def decimal_places() -> Mapping[str, int]:
    """Return a mapping from each currency code to the number of decimal places of its amounts."""
    from iso4217 import Currency  # noqa: PLC0415 - iso4217 parses XML, and few requests have an amount

    return {one.code: one.exponent for one in Currency if one.exponent is not None}


def _invalid(argument: str, fault: str) -> InvalidArgumentError:
    """Return the error whose message is the argument's name, and ``fault``."""
    return InvalidArgumentError(argument, f"{argument} {fault}")


def trimmed(value: str) -> str:
    """Return ``value`` without blanks at its ends. A value without a visible character is empty."""
    return "" if _is_blank(value) else value.strip(_BLANKS)


def identifier(argument: str, value: str) -> str:
    """Return ``value`` if it can be part of a key in DynamoDB, and has no blanks at its ends.

    The value must have 1 to 512 bytes after escaping, and no character in ``UNFIT_FOR_KEYS``. Users
    cannot see blanks at its ends, so different ids would look equal.
    """
    if not value:
        raise _invalid(argument, "is empty.")
    # The length is checked first, so that a long text costs no further work.
    long = len(value) > MAX_IDENTIFIER_BYTES
    if not long and (unfit := UNFIT_FOR_KEYS.search(value)):
        half = unicodedata.category(unfit[0]) == "Cs"
        what = "half a character (a surrogate)" if half else "a control character"
        raise _invalid(argument, f"contains {what}.")
    if long or len(escape(value).encode()) > MAX_IDENTIFIER_BYTES:
        raise _invalid(
            argument,
            f"is longer than {MAX_IDENTIFIER_BYTES} bytes; '%', '/' and '#' count as "
            "three bytes each.",
        )
    if (visible := trimmed(value)) != value:
        fault = f"{value[:40]!r} begins or ends with a blank: remove the blank"
        raise _invalid(argument, f"{fault if visible else f'{value[:40]!a} is blank'}.")
    return value


def name(argument: str, value: str) -> str:
    """Return ``value`` without blanks at its ends, if it is valid as a display name.

    A display name must follow the rules of ``identifier``, and contain a visible character.
    """
    return identifier(argument, trimmed(_stated(argument, value)))


def name_unless(username: str, name: str | None) -> str | None:
    """Return the display name to store with an object.

    The result is None if the name is empty or equals the username.
    """
    return name if name and name != username else None


def rating(argument: str, value: int) -> int:
    """Return ``value`` if it is a rating from 1 to 5."""
    if value not in RATINGS:
        raise _invalid(argument, f"is {value}; it must be from 1 to 5.")
    return value


def ratings(argument: str, values: Sequence[int]) -> frozenset[int]:
    """Return the distinct ratings in ``values``, if all are valid.

    An empty list is valid: a filter with this list matches no comments.
    """
    return frozenset(rating(argument, value) for value in few(argument, values))


def language(argument: str, value: str) -> str:
    """Return ``value`` as a BCP 47 tag in canonical form: ``EN-us`` becomes ``en-US``.

    The canonical form is that of CLDR: deprecated subtags are replaced (``iw`` by ``he``), and so
    is the main member of a macrolanguage (``cmn`` by ``zh``). A script that nearly all texts in the
    language have is removed (``en-Latn`` becomes ``en``). An extlang becomes the language
    (``ar-arz`` becomes ``arz``).

    A private-use tag, such as ``en-x-shop`` and ``qaa``, is refused: users could invent any number
    of languages for one product.
    """
    tag = _standardized(value) if len(value) <= MAX_LANGUAGE else ""
    primary, *others = tag.split("-")
    if "x" in (primary, *others) or _PRIVATE_USE.fullmatch(primary):
        raise _invalid(
            argument, f"{value!r} is a private-use language tag: use a tag such as 'en' or 'pt-BR'."
        )
    if not primary.isalpha() or len(primary) == 1 or len(tag) > MAX_LANGUAGE:
        raise _invalid(
            argument,
            f"{value[:MAX_LANGUAGE]!r} is not a BCP 47 language tag such as 'en' or 'pt-BR'.",
        )
    return tag


@lru_cache(maxsize=1_000)
def _standardized(tag: str) -> str:
    """Return a language tag in standard form; an empty string if it is not a language tag."""
    # Import langcodes here: the import takes 40 ms, and most requests name no language.
    from langcodes import standardize_tag  # noqa: PLC0415 - slow import
    from langcodes.tag_parser import LanguageTagError  # noqa: PLC0415 - slow import

    from dal.model.langcodes_door import INSTANCES, PARSED  # noqa: PLC0415 - imports langcodes

    if len(PARSED) > KEPT_TAGS:
        PARSED.clear()
        INSTANCES.clear()
    try:
        standard = standardize_tag(tag, macro=True)
    except LanguageTagError:
        return ""
    # An extlang, the second subtag of three letters, is the canonical language:
    # https://www.rfc-editor.org/rfc/rfc5646#section-4.5
    if _EXTLANG.match(standard):
        standard = standard.partition("-")[2]
    # The result can itself have a newer standard form, so repeat until the tag stays the same.
    return tag if standard == tag else _standardized(standard)


def languages(argument: str, values: Sequence[str]) -> frozenset[str]:
    """Return the canonical forms of ``values``, if all are valid.

    An empty list is valid: a filter with this list matches no comments.
    """
    return frozenset(language(argument, value) for value in few(argument, values))


def few(argument: str, values: Sequence[Value], most: int = MAX_VALUES) -> Sequence[Value]:
    """Return ``values`` if there are at most ``most``. The default is the limit of a filter."""
    if len(values) > most:
        raise _invalid(argument, f"has {len(values):,} entries; the maximum is {most:,}.")
    return values


def optional_text(argument: str, value: str) -> str:
    """Return the result of ``text``. A result without a visible character becomes empty."""
    value = text(argument, value)
    return "" if _is_blank(value) else value


def stated_title(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as a title and has a visible character."""
    return _stated(argument, title(argument, value))


def search(argument: str, value: str) -> str:
    """Return the search for the words of ``value``, if it has a word and at most 200 characters."""
    found = search_of(stated_title(argument, value))
    if not found:
        raise _invalid(argument, "has no word: write letters, digits or emoji.")
    return found


def stated_text(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as a text and has a visible character."""
    return _stated(argument, text(argument, value))


def stated_reply(argument: str, value: str) -> str:
    """Return ``value`` if it has a visible character and is not too long for a reply."""
    return _stated(argument, _characters(argument, value, MAX_REPLY))


def _stated(argument: str, value: str) -> str:
    """Return ``value`` if it has a visible character."""
    if _is_blank(value):
        raise _invalid(argument, "is empty: write something.")
    return value


def _is_blank(value: str) -> bool:
    # The search ends at the first character that is drawn. Most values begin with one in ASCII.
    return not "!" <= value[:1] <= "~" and all(
        char == _BLANK_PATTERN
        or unicodedata.category(char)[0] in _SHAPELESS
        or INVISIBLE.match(char)
        for char in value
    )


def _measured(argument: str, value: str, most: int) -> str:
    if len(value) > most:
        raise _invalid(argument, f"is {len(value):,} characters long; the maximum is {most:,}.")
    return value


def _characters(argument: str, value: str, most: int) -> str:
    """Return ``value`` without control characters, if it has at most ``most`` characters.

    Characters that change the direction of text are removed too. A surrogate is invalid.
    """
    value = _HIDDEN.sub("", _measured(argument, value, most))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _invalid(argument, "contains half a character (a surrogate).") from None
    return value


title = partial(_characters, most=MAX_TITLE)
text = partial(_characters, most=MAX_TEXT)
explanation = partial(_characters, most=MAX_EXPLANATION)
trade_name = partial(_characters, most=MAX_TRADE_NAME)
"""Rules for a title, a comment, the explanation in a report, and a brand or part number."""


def instant(argument: str, value: datetime) -> datetime:
    """Return ``value`` in UTC. A time without a zone is a time in UTC."""
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise _invalid(argument, "is out of range: years go from 1 to 9999.") from None


def email(argument: str, value: str) -> str:
    """Return ``value`` if it can be an e-mail address."""
    value = _characters(argument, value, MAX_EMAIL)
    if not _EMAIL.fullmatch(value):
        raise _invalid(argument, "is not an address such as 'ana@b.org'.")
    return value


def address(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as a link: an https URL, or a path on this server.

    Users follow these links. A link with another scheme, such as ``javascript:``, could run a
    script, so other schemes are not allowed. A path must not begin with two slashes, because
    browsers read the text after them as a host. A URL must not contain a user name, because users
    can mistake it for the host.
    """
    _measured(argument, value, MAX_ADDRESS)
    if not (_PATH.fullmatch(value) or _is_https(value)):
        raise _invalid(
            argument, "is not a URL such as 'https://shop.example/kettle.jpg' or '/kettle.jpg'."
        )
    return value


def gtin(argument: str, value: str) -> str:
    """Return ``value`` if it is a GTIN: 8, 12, 13 or 14 digits, of which the last is a check digit.

    https://www.gs1.org/services/how-calculate-check-digit-manually
    """
    weighted = (int(digit) * (1, 3)[n % 2] for n, digit in enumerate(reversed(value)))
    if not _GTIN.fullmatch(value) or sum(weighted) % 10:
        raise _invalid(
            argument, "is not a GTIN such as '4006381333931': compare it with the barcode."
        )
    return value


def photo_address(argument: str, value: str) -> str:
    """Return ``value`` if it is valid as a photo's address: an https URL without a user name."""
    if not _is_https(_measured(argument, value, MAX_ADDRESS)):
        raise _invalid(argument, "is not a URL such as 'https://shop.example/kettle.jpg'.")
    return value


def alternative_text(argument: str, value: str) -> str:
    """Return ``value`` without control characters, if it is not too long for a photo's text.

    A text without a visible character becomes empty.
    """
    value = _characters(argument, value, MAX_ALT)
    return "" if _is_blank(value) else value


def _is_https(value: str) -> bool:
    if not _HTTPS.fullmatch(value):
        return False
    try:
        parts = urlsplit(value)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is above 65535, or a bracket is not closed
        return False


def quantity(argument: str, value: int) -> int:
    """Return ``value`` if it is a valid quantity of an order line."""
    if not 1 <= value <= MAX_QUANTITY:
        raise _invalid(argument, f"is {value}; it must be from 1 to {MAX_QUANTITY:,}.")
    return value


def money(argument: str, value: str) -> Money:
    """Return the amount and currency of a text like ``12.50 EUR`` or ``EUR 12.50``."""
    parts = next(filter(None, (form.fullmatch(value) for form in _MONEY)), None)
    if parts is None:
        raise _invalid(argument, f"is {value[:40]!r}; it must be an amount such as '12.50 EUR'.")
    code = currency(argument, parts["currency"])
    return Money(amount(argument, Decimal(parts["amount"]), code), code)


def currency(argument: str, code: str) -> str:
    """Return ``code`` if ISO 4217 defines the number of decimal places of its amounts.

    For gold (XAU), for example, ISO 4217 does not define this number.
    """
    if code not in decimal_places():
        raise _invalid(
            argument,
            f"has the currency {code[:40]}; it must be a payment currency of ISO 4217, "
            "such as EUR.",
        )
    return code


def amount(argument: str, value: Decimal, currency: str) -> Decimal:
    """Return ``value`` with the currency's decimal places: ``5`` EUR becomes ``5.00``."""
    if value.is_signed() or value >= MAX_AMOUNT:
        raise _invalid(
            argument, f"is {str(value)[:40]}; it must be from 0 to less than {MAX_AMOUNT:,}."
        )
    places = decimal_places()[currency]
    exact = round(value, places)
    if exact != value:
        raise _invalid(
            argument,
            f"is {str(value)[:40]} {currency}; "
            f"amounts of this currency have {places} decimal places.",
        )
    return exact


def line_count(argument: str, lines: Sequence[Value]) -> Sequence[Value]:
    """Return ``lines`` if an order may have this number of lines."""
    if not 1 <= len(lines) <= MAX_LINES:
        raise _invalid(argument, f"has {len(lines):,} entries; an order has 1 to {MAX_LINES}.")
    return lines


def order_lines(argument: str, lines: Sequence[OrderLine]) -> tuple[OrderLine, ...]:
    """Return ``lines`` if they are valid for an order: 1 to 90, in one currency."""
    currencies = sorted({line.unit_price.currency for line in line_count(argument, lines)})
    if len(currencies) > 1:
        raise _invalid(argument, f"mixes {' and '.join(currencies)}; an order has one currency.")
    return tuple(lines)


def period(
    start: datetime | None,
    end: datetime | None,
    arguments: tuple[str, str] = ("createdFrom", "createdBefore"),
) -> tuple[datetime | None, datetime | None]:
    """Return both times in UTC. Raise an error if ``start`` is after ``end``.

    ``arguments`` are the names of ``start`` and ``end`` in the error.
    """
    first, last = arguments
    start = None if start is None else instant(first, start)
    end = None if end is None else instant(last, end)
    if start is not None and end is not None and start > end:
        raise InvalidArgumentError(first, f"{first} is after {last}: exchange the two.")
    return start, end
