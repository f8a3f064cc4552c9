"""The limits on clients' input, and on the work that the input causes, with their reasons.

The server checks the length of a text before it does any other work on the text. For operators,
SECURITY.md lists each limit with its test.
"""

# Documents

MAX_DOCUMENT = 20_000
"""Maximum characters of a GraphQL document. Parsing a long string takes up to 0.4 µs for each
character, and meanwhile the process serves no other request."""

MAX_TOKENS = 1_000
"""Maximum lexical units of a document: its names, values, punctuation and comments. Parsing,
validation and compilation take some microseconds for each unit, and meanwhile the process serves no
other request. GraphiQL's introspection query has 160 units."""

MAX_DEFINITIONS = 100
"""Maximum operations and fragments of a document. Validation compares some of them in pairs, so its
time can grow with the square of their number."""

MAX_DEPTH = 10
"""Maximum levels of nested fields in an operation, without the first level."""

MAX_ALIASES = 30
"""Maximum aliases of an operation. A fragment's aliases count once for each spread of the fragment.
Without this limit, a document could select the same long list many times."""

MAX_FIELDS = 500
"""Maximum fields of an operation. A fragment's fields count once for each spread of the
fragment."""

MAX_SPREADS = 500
"""Maximum spreads of named and inline fragments. Together with ``MAX_FIELDS``, this limit bounds
the time of every function that visits all parts of an operation."""

MAX_PAIRS = 10_000
"""Maximum pairs of fields with the same response key. Validation compares each pair."""

MAX_COMPARISONS = 20_000
"""Maximum steps of one validation rule of graphql-core. The rule checks that fields with the same
response key can be merged. The number of steps grows with the square of an object's fields and
fragments. 20,000 steps take 15 ms. The document of a web page with 15 components, each with
fragments, takes 7,000 steps. graphql-core's own limit is 500,000 steps."""

MAX_DIGITS = 40
"""Maximum characters of a number in a document. Parsing time grows with the square of the
length."""

MAX_DOCUMENT_ERRORS = 10
"""Maximum validation errors in a response. When the client has fixed these errors, the next
response lists more."""

KEPT_BYTES = 32_000_000
TRUSTED_BYTES = 128_000_000
"""Maximum bytes of the two caches of parsed documents. ``KEPT_BYTES`` is for the cache of clients'
documents, and holds about 100 documents of 300 lexical units. ``TRUSTED_BYTES`` is for the cache of
trusted documents, which the operator provides, and holds about 400 of them. With separate caches,
clients' documents cannot evict trusted documents. A document that is not in a cache is parsed and
validated for each request."""

TRUSTED_CHARACTERS = 16_000_000
"""Maximum characters of all trusted documents together. The texts of trusted documents stay in
memory."""

AUTOMATIC_BYTES = 16_000_000
"""Maximum bytes of the documents that clients register by hash (automatic persisted queries). Above
this limit, the server drops the least recently used documents."""

# Variables and arguments

MAX_VARIABLE_VALUES = 1_000
"""Maximum values in a request's variables. The server checks and converts each value. An order of
90 lines has 300 values."""

MAX_VALUES = 100
"""Maximum values of a list in a filter, and maximum ids in the field `products`. Each value costs
CPU time, even though a page never reads more than ``MAX_SEGMENTS`` partitions."""

MAX_NODES = 100
"""Maximum ids of one ``nodes`` field, and maximum representations of one ``_entities`` field."""

MAX_ROWS = 100
"""Maximum rows of a page."""

MAX_POINTS = 400
"""Maximum points of a trend, which shows a product's comments by day, week or month. 400 points are
13 months of days, 7 years of weeks or 33 years of months."""

# Work that an operation causes

MAX_SORTED_ROWS = 2_000
"""Maximum estimated rows (about 1 MB) that the server reads for a page of filtered comments, sorted
by helpful votes. If the estimate is higher, the server refuses the page before the read. If the
estimate was too low, and the page reads more than twice this maximum, the page ends with an
error."""

MAX_REQUESTS = 250
"""Maximum requests to DynamoDB that an operation usually sends. Also the maximum partitions
that an operation reads for the lists and statistics of groups of variants. Above either maximum,
the operation fails."""

MAX_EVENT_REQUESTS = 5
"""Maximum requests to DynamoDB for one event of a subscription: enough for one or two fields that
read from the table."""

MAX_ANSWER_VALUES = 12_000
"""Maximum values in an operation's result. Each value costs some microseconds of CPU time. An
operation is refused if its usual result has more values, and ends when its result has more. The
introspection queries of GraphiQL and of code generators return about 10,000 values."""

MAX_QUESTIONS = 10
"""Maximum questions to the analytics store in one operation. Each question reads all rows of a
product, or of the whole table."""

MAX_WAITING_QUESTIONS = 16
"""Maximum number of different questions that a process asks the analytics store at the same time,
for all clients together."""

MAX_SEGMENTS = 60
"""Maximum partitions that a page reads: five ratings in each of twelve languages."""

MAX_MEMBERS = 60
"""Maximum products of a group. A page reads a partition of each product."""

MAX_DROPPED = 2_000
"""Maximum rows (about 140 RCU) that a page reads and drops, if its filter selects more than
``MAX_SEGMENTS`` partitions. Such a page reads a coarser index, and drops the rows that do not pass
the filter. Above the maximum, the optimizer plans the rest of the page once more. If the new plan
also exceeds the maximum, the page ends with an error."""

TICKET_ORGANIZATIONS = 20
"""Maximum organisations whose tickets the list `User.tickets` includes: the user's first 20 by
name. Each organisation costs one request to DynamoDB. If a user has more organisations, the list
omits the tickets of those after the 20th. It does not fail, because other users can add a user to
any number of organisations."""

MAX_WAITING_EVENTS = 500
MAX_WAITING_BYTES = 1_000_000
"""Maximum number, and maximum bytes, of a subscription's events that wait to be sent. Above either
maximum, the subscription ends. The client must then read the list again, which is faster than
receiving so many events."""

# Identifiers and texts

MAX_IDENTIFIER_BYTES = 512
"""Maximum bytes in UTF-8 of an escaped identifier (see ``dal.table.key_parts``). An identifier of
this size and a date fit together in a sort key of DynamoDB, whose maximum is 1,024 bytes."""

MAX_OPAQUE = 1_400
"""Maximum characters of a global id or a cursor: enough for the base64 of a type name and two
identifiers."""

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

MAX_UPLOAD = 10_000_000
"""Maximum bytes of an uploaded photo. Phones make photos of 2 to 6 MB."""

MAX_LANGUAGE = 35
"""Maximum characters of a language tag. BCP 47 (RFC 5646, section 4.4.1) requires programs to
accept tags of this length."""

MAX_LANGUAGES = 100
"""Maximum languages in the statistics of a product or a group: the most frequent ones. Users choose
the language of their comments, so a product can have thousands."""

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

MAX_FIRST_USERS = 90
"""Maximum users in the mutation that creates an organisation. The mutation writes one item for each
user in one transaction, and DynamoDB allows 100 items in a transaction."""

# Answers

MAX_ERRORS = 20
MAX_MESSAGE = 300
"""Maximum errors in a response, and maximum characters of each error's message. Without these
limits, a response could be very long, because graphql-core repeats the client's input in its
messages."""

MAX_RESPONSE = 9_000_000
"""Maximum bytes of a response, of a subscription's event and of an HTML page. The bytes of a result
are counted while an operation runs. The largest page of comments has 7.8 MB: 100 comments, each
with a text of 10,000 characters, a reply of 2,000 characters and 10 photos, at four bytes per
character."""

# Forms and headers

MAX_FORM_FIELDS = 50
"""Maximum fields of an HTML form."""

MAX_JWT = 4_000
"""Maximum characters of a visitor's JWT. The server stores the JWT in a cookie, and browsers drop a
cookie with more than 4,096 characters in name and value."""

MAX_PAGE_ADDRESS = 8_000
"""Maximum bytes of a page's address. The page repeats its address in a link for each language, so a
long address would make the page much larger. The longest useful address, with an identifier and a
cursor, has 3,000 bytes."""

MAX_HOST = 300
"""Maximum characters of a Host header: a host name has at most 253 characters, and a port has at
most five."""

MAX_REQUEST_ID = 128
"""Maximum characters of a request id, which the server writes to its log."""

# HTTP and WebSocket

MAX_BODY = 1_000_000
"""Maximum bytes of a request body. The longest comment needs 60,000 bytes."""

MAX_HEAD = 65_536
"""Maximum bytes of a request without its body: request line, headers, chunk sizes and trailers.
Browsers and CDNs send less than 16,000 bytes. Many tiny headers or chunks cost the server much CPU
time, and much more memory than their size."""

MAX_HEADERS = 100
"""Maximum headers and trailers of a request. A browser's request through a CDN has about 40
headers. Each header needs about 110 bytes of memory."""

MAX_PIPELINED = 100
"""Maximum requests that wait on a connection because the client sent them before it received
earlier responses (HTTP pipelining). Each waiting request needs 2 kB of memory. Browsers do not
pipeline requests."""

MAX_BODIES = 64_000_000
"""Maximum bytes of request bodies that wait for processing, over all connections of a process."""

MAX_SOCKET_MESSAGE = 131_072
"""Maximum bytes of a WebSocket message. The longest document has 20,000 characters."""

MAX_FRAMES = 100
"""Maximum WebSocket frames per second on a connection. When a web page with 20 lists opens, it may
start 20 subscriptions within one second. Each frame costs 10 microseconds of CPU time before other
limits are checked."""

MAX_MESSAGE_FRAMES = 1_000
"""Maximum frames of one WebSocket message. Even an empty frame needs memory until the message is
complete."""

SEND_TIMEOUT = 30.0
"""Seconds in which a client must receive ``MIN_TAKEN`` bytes of a response."""

MIN_TAKEN = 16_384
"""Bytes that a client must receive in each ``SEND_TIMEOUT`` while its connection's write buffer is
full. If a client receives fewer bytes, the server closes the connection. Without this minimum,
responses to slow clients would occupy memory for hours."""

MAX_CLIENTS = 100_000
"""Maximum clients whose request rate the server remembers, in 40 MB of memory. Beyond this limit,
the server forgets the client that has sent no request for the longest time."""

SECONDS_OF_REQUEST = 0.002
"""Seconds of CPU time that count as one additional request in a client's request rate. The server
measures the CPU time of parsing and validating each new document. A short document takes less time
than this, and adds no request. At the default limit of 100 requests per second, a client's new
documents take at most about 0.2 seconds of CPU time per second."""
