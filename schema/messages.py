"""GraphQL's own messages about arguments and variables, in plain sentences.

The library shows what it found as Python writes it. Whoever sent a value knows it, so a message
says where it stands and what is wanted there.
"""

_FOUND = (", found: ", " Found: ")
"""What the library has before the value that it shows."""

_SENTENCES = {
    "Value cannot represent a DateTime: ": "A DateTime is an instant such as 2024-12-01T00:00:00Z.",
    "Value cannot represent a Decimal: ": 'A Decimal is text such as "12.50".',
    "Value cannot represent a CurrencyCode: ": 'A CurrencyCode is text such as "EUR".',
    "Boolean cannot represent ": "A Boolean is true or false.",
    "Float cannot represent ": "A Float is a number.",
    "ID cannot represent ": "An ID is a string or an integer.",
    "Int cannot represent ": "An Int is a whole number of 32 bits.",
    "String cannot represent ": "A String is text between quotation marks.",
}
"""How the library begins, and what is said in its place."""


def plain(message: str) -> str:
    """Return a message about what a client sent, in plain words."""
    place, colon, reason = message.partition(": ")
    if not place.startswith("Variable '$") or not colon:
        place, colon, reason = "", "", message
    return f"{place}{colon}{_plain(reason)}"


def _plain(reason: str) -> str:
    for start, sentence in _SENTENCES.items():
        if reason.startswith(start):
            return sentence
    if reason.startswith("Expected value of type '"):
        for sign in _FOUND:
            said, found, _ = reason.partition(sign)
            if found:
                return f"{said}."
    if reason.startswith("Expected ") and reason.endswith(" not to be None."):
        return f"{reason.removesuffix('None.')}null."
    enum, found, _ = reason.partition(" cannot represent ")
    if found and enum.startswith("Enum '"):
        return f"Expected one of the names of the {enum.replace('Enum', 'enum', 1)}."
    return reason
