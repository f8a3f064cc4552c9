"""Documents that are costly to validate."""


def chain(fragments: int, comment: str = "") -> str:
    """Return a document with a chain of fragments.

    ``comment`` distinguishes it from other documents.
    """
    of = 'product(productId: "1") { ...f0 }'
    links = [f"fragment f{n} on Product{{id title ...f{n + 1}}}" for n in range(fragments - 1)]
    last = f"fragment f{fragments - 1} on Product{{id}}"
    return "\n".join([f"{{ {of} }} # {comment}", *links, last])
