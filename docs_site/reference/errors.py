"""Every code of an error, with what causes it and what to do next."""

from collections.abc import Iterator
from dataclasses import dataclass

from graphql import GraphQLEnumType

from docs_site.markdown import table
from docs_site.reference.schema import schema

_HEADING = ("code", "cause", "next step")

OPENING = """\
# Errors

Programs go by codes; messages are for people and may change. A code stands in
`errors[].extensions.code`, also where a request fails before GraphQL runs, with a matching HTTP
status. Every answer has an `X-Request-ID`, which the log knows too, but what a CDN may keep.
"""

USER_ERRORS = """\
## User errors

What the person at a form can mend is no error of GraphQL's: the payload of each mutation lists it
in `userErrors`, all of an input at once, with the path of the `field`.
"""


@dataclass(frozen=True, slots=True)
class Advice:
    """Why a client gets a code, and what it should do then."""

    cause: str
    next_step: str


ADVICE = {
    "BAD_REQUEST": Advice(
        "The request cannot be read: broken JSON, a document that does not parse or fit the "
        "schema, variables of a wrong type, a subscription where none is answered.",
        "Mend the document; the message names the place. `schema.graphql` has all names.",
    ),
    "BAD_ARGUMENT": Advice(
        "A value breaks a rule: a rating of 6, `first` beyond 100, a date without a zone.",
        "Change the argument that `extensions.argument` names.",
    ),
    "BAD_CURSOR": Advice(
        "`after` or `before` is not a cursor of this server's, or of another kind of list.",
        "Begin at the first page. Take cursors from answers as they are; do not build them.",
    ),
    "UNSUPPORTED_FILTER": Advice(
        "No index answers this filter, or not while comments move between shards.",
        "Ask without that filter. While `table reshard` runs, wait for its end.",
    ),
    "NOT_LISTED": Advice(
        "Comments by author, of a table without the optional index byAuthor.",
        "Do without, or have whoever runs the table add it: `marginalia table upgrade "
        "--author-index`.",
    ),
    "QUERY_TOO_COSTLY": Advice(
        "The operation is expected to take more than 250 requests or 10,000 values, a filter "
        "selects more than 60 partitions, or the answer would have more than 5 MB.",
        "Ask for fewer rows, fewer lists in lists, or fewer languages at once. "
        '`"extensions": {"cost": true}` tells what an operation takes.',
    ),
    "NOT_FOUND": Advice(
        "There is no such thing, no such path, or no document of this id.",
        "Check the id. Another's order is answered like one that is not there.",
    ),
    "UNAUTHENTICATED": Advice(
        "The field wants a user, and the request has no JWT, an expired one, or one of another "
        "key.",
        "Send `Authorization: Bearer <JWT>`; get a new JWT where it has expired.",
    ),
    "FORBIDDEN": Advice(
        "The user may not do this.",
        "Ask as the owner, or with the role that the message names.",
    ),
    "THROTTLED": Advice(
        "This client sends more than its rate, DynamoDB is busy, or others change the same item.",
        "Wait as long as `Retry-After` says, or a second, then send it again. Give mutations an "
        "idempotency key, so that a retry stays one comment.",
    ),
    "UNAVAILABLE": Advice(
        "The store is away, full or damaged, the time of the request is over, the server is "
        "stopping or full, or the analytics store is not filled.",
        "Try again later. Whoever runs the server finds the reason in its log and at "
        "`/health/ready`.",
    ),
    "TOO_SLOW": Advice(
        "Events of a subscription came faster than the client took them.",
        "Subscribe again with the last event's cursor as `after`.",
    ),
    "UNTRUSTED_DOCUMENT": Advice(
        "The server runs trusted documents alone (`--documents-only`), and this is none.",
        "Register it: `marginalia documents add`, or a manifest with `--documents`.",
    ),
    "PERSISTED_QUERY_NOT_FOUND": Advice(
        "Nobody has registered the text of this hash.",
        "Send the text with the hash, as clients of Apollo and urql do by themselves.",
    ),
    "PERSISTED_QUERY_NOT_SUPPORTED": Advice(
        "Clients cannot register texts here: the server runs without `--apq`.",
        "Send the text, as clients of Apollo and urql do by themselves.",
    ),
    "INTERNAL": Advice(
        "A fault of the server.",
        "Report it with `extensions.requestId`: the log has the reason under this id.",
    ),
}

NEXT_STEPS = {
    "BAD_ARGUMENT": "Show the message beside `field`, with everything typed still there.",
    "NOT_FOUND": "Read the list again.",
    "ALREADY_EXISTS": "Choose another name.",
    "IDEMPOTENCY_KEY_REUSED": "Make a new key for each new input; keep it for retries of the same.",
    "CONFLICT": "Read it again, show what it is now, and let the person decide.",
}


def errors_page() -> str:
    """Return the page of all codes."""
    return "\n".join([OPENING, *_errors(), USER_ERRORS, *_user_errors()])


def _errors() -> Iterator[str]:
    rows = [(f"`{code}`", one.cause, one.next_step) for code, one in sorted(ADVICE.items())]
    yield from (*table(_HEADING, rows), "")


def _user_errors() -> Iterator[str]:
    codes = schema().type_map["UserErrorCode"]
    assert isinstance(codes, GraphQLEnumType)  # noqa: S101 - the SDL says so
    rows = [
        (f"`{name}`", value.description or "", NEXT_STEPS[name])
        for name, value in codes.values.items()
    ]
    yield from (*table(_HEADING, rows), "")
