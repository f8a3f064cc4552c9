"""Plain sentences for graphql-core's messages about arguments and variables.

graphql-core shows values as Python literals. The client knows the value that it sent, so a message
here names the place and the expected type.
"""

_FOUND = (", found: ", " Found: ")
"""Text that graphql-core puts before a value."""

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
"""Beginnings of graphql-core's messages, and the sentences that replace them."""


def plain(message: str) -> str:
    """Return a message about a client's input in plain words."""
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
            expected, found, _ = reason.partition(sign)
            if found:
                return f"{expected}."
    if reason.startswith("Expected ") and reason.endswith(" not to be None."):
        return f"{reason.removesuffix('None.')}null."
    enum, found, _ = reason.partition(" cannot represent ")
    if found and enum.startswith("Enum '"):
        return f"Expected one of the names of the {enum.replace('Enum', 'enum', 1)}."
    return reason
