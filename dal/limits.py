"""Every limit on clients' input and on the work it causes, each with its reason.

A module compares a client's text with its limit before any other work on the text.
SECURITY.md lists the limits for operators, each with its test.
"""

# Documents

MAX_DOCUMENT = 30_000
"""Characters of a document."""

MAX_TOKENS = 1_000
"""Lexical units of a document: the process serves no other request while it parses, validates and
compiles them, which takes some microseconds each. GraphiQL's introspection has 160."""

MAX_DEFINITIONS = 100
"""Operations and fragments of a document. Validation compares some of them in pairs."""

MAX_DEPTH = 10
"""Levels of fields below the first level of an operation."""

MAX_ALIASES = 30
"""Aliases, counted at each spread of their fragment. Each alias may select the same list again."""

MAX_FIELDS = 500
"""Fields, counted at each spread of their fragment."""

MAX_SPREADS = 500
"""Fragments, named and inline, counted wherever they are spread. With ``MAX_FIELDS`` it bounds the
steps of whatever walks through an operation."""

MAX_PAIRS = 10_000
"""Pairs of fields under one response key, which validation compares one by one."""

MAX_COMPARISONS = 20_000
"""Steps of graphql-core's check that the fields of each object can be merged. Their number grows
with the square of an object's fields and fragments. This many take 15 ms; graphql-core alone would
allow 500,000. A page of 15 components, each with fragments, takes 7,000."""

MAX_DIGITS = 40
"""Characters of a number in a document. Parsing takes time that grows with the square of its
length."""

MAX_DOCUMENT_ERRORS = 10
"""Errors that validation reports for a document. After these are fixed, it reports the others."""

KEPT_BYTES = 32_000_000
TRUSTED_BYTES = 128_000_000
"""Memory for the parsed documents of clients, and for parsed trusted documents, which clients
cannot evict: 400 documents of 300 lexical units. A document beyond this memory is parsed and
validated again with each request."""

TRUSTED_CHARACTERS = 16_000_000
"""Characters of all trusted documents. The server always keeps their texts in memory."""

AUTOMATIC_BYTES = 16_000_000
"""Memory for the texts that clients register by hash; the least recently used are dropped."""

# Variables and arguments

MAX_VARIABLE_VALUES = 1_000
"""Values in a request's variables, each of which is coerced. An order of 90 lines has 300
values."""

MAX_VALUES = 100
"""Values of a list in a filter, and ids of `products`. A page reads at most 60 partitions."""

MAX_NODES = 100
"""Ids in one ``nodes`` field."""

MAX_ROWS = 100
"""Rows of a page."""

MAX_POINTS = 400
"""Points of a trend: more than a year by day, seven years by week, a generation by month."""

# Work that an operation causes

MAX_REQUESTS = 250
"""Requests to DynamoDB that an operation is expected to make."""

MAX_EVENT_REQUESTS = 5
"""Requests to DynamoDB for one event of a subscription, which can read one or two fields."""

MAX_ANSWER_VALUES = 10_000
"""Values that an operation's answer is expected to hold: some microseconds of work each."""

MAX_QUESTIONS = 10
"""Questions to the analytics store. Each reads all rows of a product, or of the shop."""

MAX_WAITING_QUESTIONS = 16
"""Different questions of all clients that the analytics store answers at once."""

MAX_SEGMENTS = 60
"""Partitions that a page reads: twelve languages of five ratings."""

TICKET_ORGANIZATIONS = 20
"""Organisations whose tickets the list of a user's tickets has: the first by name. Each is a
request. Others can put a user into more, which must not cost the user the list."""

MAX_WAITING_EVENTS = 500
MAX_WAITING_BYTES = 1_000_000
"""Events of one subscription that wait to be sent, and their bytes. A client that is further behind
gets its list faster by a reload."""

# Identifiers and texts

MAX_IDENTIFIER_BYTES = 512
"""Bytes of an escaped identifier in UTF-8. With a date it fits a sort key, which has 1,024
bytes."""

MAX_OPAQUE = 1_400
"""Characters of a global id or a cursor: base64 of a type's name and two identifiers."""

MAX_TITLE = 200
MAX_TEXT = 10_000
MAX_EXPLANATION = 500
"""Characters of a title, of a text, and of the explanation of a report."""

MAX_REPLY = 2_000
"""Characters of the shop's reply to a comment: lists read it with the comment."""

MAX_LANGUAGE = 35
"""Characters of a language tag: the length that BCP 47 (RFC 5646, section 4.4.1) asks programs to
accept."""

KEPT_TAGS = 10_000
"""Language tags that are cached in canonical form."""

MAX_ADDRESS = 2_048
"""Characters of a URL in a link: all browsers and crawlers accept this length."""

MAX_EMAIL = 254
"""Characters of an e-mail address: RFC 5321 allows no more."""

MAX_QUANTITY = 10_000
"""Exclusive upper bound of an amount in minor units: amounts have at most twelve digits."""

MAX_AMOUNT = 10**12
"""Exclusive upper bound of an amount in minor units: amounts have at most twelve digits."""

MAX_LINES = 90
"""Lines of an order. A delivery is one transaction with an action for each product, and DynamoDB
allows 100 actions."""

MAX_FIRST_USERS = 90
"""Users in the mutation that creates an organisation. A transaction takes 100 items."""

# Answers

MAX_ERRORS = 20
MAX_MESSAGE = 300
"""Errors in an answer, and the characters of each: messages of graphql-core repeat the whole
input."""

MAX_RESPONSE = 6_000_000
"""Bytes of an answer: 100 comments of 10,000 characters of four bytes, each with a reply of 2,000,
are 4.9 MB."""

# Forms and headers

MAX_FORM_FIELDS = 50
"""Fields of a form on a page."""

MAX_JWT = 4_000
"""Characters of the JWT that a visitor pastes to sign in: browsers drop a cookie of more than
4,096, its name included."""

MAX_PAGE_ADDRESS = 8_000
"""Bytes of a page's address: the page repeats it in a link for each language. The longest useful
address contains an identifier and a cursor, 3,000 bytes in all."""

MAX_HOST = 300
"""Characters of a Host header: a name has 253 at most, a port five."""

MAX_REQUEST_ID = 128
"""Characters of a request id, which is written to the log."""

# HTTP and WebSocket

MAX_BODY = 1_000_000
"""Bytes of a request's body; the longest comment takes 60,000 of them."""

MAX_HEAD = 65_536
"""Bytes of a request besides its body: head, chunk sizes and trailers. Browsers and CDNs send less
than 16,000; each byte of a tiny chunk or header costs memory and CPU many times over."""

MAX_HEADERS = 100
"""Headers and trailers of a request; browsers behind CDNs send 40. Each takes some 110 bytes."""

MAX_PIPELINED = 100
"""Pipelined requests that wait on a connection. Each takes 2 kB. Browsers do not pipeline."""

MAX_BODIES = 64_000_000
"""Bytes of unprocessed request bodies, of all connections of a process together."""

MAX_SOCKET_MESSAGE = 131_072
"""Bytes of a WebSocket message: the longest document is 30,000 characters."""

MAX_FRAMES = 100
"""WebSocket frames of a connection in a second, whatever they hold: a front end opens a page's 20
lists at once, and a frame costs 10 microseconds before any other limit sees it."""

MAX_MESSAGE_FRAMES = 1_000
"""Frames of one WebSocket message: even empty ones take memory until the message is complete."""

SEND_TIMEOUT = 30.0
"""Seconds in which a client must receive ``MIN_TAKEN`` bytes of a waiting answer."""

MIN_TAKEN = 16_384
"""Bytes that a client must receive in ``SEND_TIMEOUT`` while its connection's write buffer is full:
a slower client would occupy the memory of its answers for hours."""

MAX_CLIENTS = 100_000
"""Clients with a stored request rate, in 40 MB. The client that was silent for longest is dropped
first."""

SECONDS_OF_REQUEST = 0.002
"""Processor time for a new document that counts as one more request. A short document takes less.
At 100 requests a second, the new documents of one client take a fifth of a core."""
