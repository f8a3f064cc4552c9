"""GraphQL's own messages about arguments and variables, in plain sentences.

The library shows what it found as Python writes it. Whoever sent a value knows it, so a message
says where it stands and what is wanted there.
"""

import re

_PLACE = re.compile(r"Variable '\$\w+' has invalid value(?: at [\w.\[\]]+)?: ")

_REASONS = tuple(
    (re.compile(pattern, re.DOTALL), sentence)
    for pattern, sentence in (
        (r"(Expected .+) not to be None\.", r"\1 not to be null."),
        (r"(Expected value of type '\w+' to be an object), found: .*", r"\1."),
        (r"(Expected value of type '\w+' to include required field '\w+'), found: .*", r"\1."),
        (
            (
                r"(Expected value of type '\w+' not to include unknown field '.*?')"
                r"(?:, found|(\. .*\?) Found): .*"
            ),
            r"\1\2.",
        ),
        (
            r"Value cannot represent a DateTime: .*",
            "A DateTime is an instant such as 2024-12-01T00:00:00Z.",
        ),
        (r"Value cannot represent a Decimal: .*", 'A Decimal is text such as "12.50".'),
        (r"Value cannot represent a CurrencyCode: .*", 'A CurrencyCode is text such as "EUR".'),
        (r"Boolean cannot represent .*", "A Boolean is true or false."),
        (r"Float cannot represent .*", "A Float is a number."),
        (r"ID cannot represent .*", "An ID is a string or an integer."),
        (r"Int cannot represent .*", "An Int is a whole number of 32 bits."),
        (r"String cannot represent .*", "A String is text between quotation marks."),
        (r"Enum '(\w+)' cannot represent .*", r"Expected one of the names of the enum '\1'."),
    )
)
"""What the library says, and what is said in its place."""


def plain(message: str) -> str:
    """Return a message about what a client sent, in plain words."""
    found = _PLACE.match(message)
    place, reason = (message[: found.end()], message[found.end() :]) if found else ("", message)
    for pattern, sentence in _REASONS:
        matched = pattern.fullmatch(reason)
        if matched:
            return place + matched.expand(sentence)
    return message
