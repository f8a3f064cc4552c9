"""Every limit on clients' input and on the work it causes, each with its reason.

A text is checked against its limit before any other work on it. SECURITY.md lists the limits for
operators, each with its test.
"""

# Documents

MAX_DOCUMENT = 30_000
"""Maximum characters of a GraphQL document."""

MAX_TOKENS = 1_000
"""Maximum lexical units of a document. Parsing, validation and compilation take some microseconds
for each unit, and meanwhile the process serves no other request. GraphiQL's introspection has
160."""

MAX_DEFINITIONS = 100
"""Maximum operations and fragments of a document. Validation compares some of them in pairs."""

MAX_DEPTH = 10
"""Maximum depth of fields below the first level of an operation."""

MAX_ALIASES = 30
"""Maximum aliases; a fragment's aliases count at each spread. Each alias may select the same list
again."""

MAX_FIELDS = 500
"""Maximum fields; a fragment's fields count at each spread."""

MAX_SPREADS = 500
"""Maximum spreads of named and inline fragments. With ``MAX_FIELDS``, it limits the steps of every
function that visits all parts of an operation."""

MAX_PAIRS = 10_000
"""Maximum pairs of fields with the same response key. Validation compares each pair."""

MAX_COMPARISONS = 20_000
"""Maximum steps of graphql-core's check that the fields of each object can be merged. The steps
grow with the square of an object's fields and fragments. 20,000 steps take 15 ms; graphql-core's
own limit would allow 500,000. A page of 15 components, each with fragments, takes 7,000."""

MAX_DIGITS = 40
"""Maximum characters of a number in a document. Parsing time grows with the square of the
length."""

MAX_DOCUMENT_ERRORS = 10
"""Maximum validation errors in a response. A client that fixes them gets the next ones."""

KEPT_BYTES = 32_000_000
TRUSTED_BYTES = 128_000_000
"""Memory for parsed documents of clients, and the same amount for parsed trusted documents, which
clients cannot evict. Each holds 400 documents of 300 lexical units. A document that does not fit is
parsed and validated at each request.
"""

TRUSTED_CHARACTERS = 16_000_000
"""Maximum characters of all trusted documents together. Their texts stay in memory."""

AUTOMATIC_BYTES = 16_000_000
"""Memory for the documents that clients register by hash. The least recently used are dropped."""

# Variables and arguments

MAX_VARIABLE_VALUES = 1_000
"""Maximum values in a request's variables, because the server coerces each. An order of 90 lines
has 300 values."""

MAX_VALUES = 100
"""Maximum values of a list in a filter, and maximum ids of `products`. A page reads at most 60
partitions."""

MAX_NODES = 100
"""Maximum ids of one ``nodes`` field."""

MAX_ROWS = 100
"""Maximum rows of a page."""

MAX_POINTS = 400
"""Maximum points of a trend: more than a year by day, seven years by week, 33 years by month."""

# Work that an operation causes

MAX_SORTED_ROWS = 2_000
"""Maximum rows that a page in the order of helpful votes is expected to read under filters: about 1
MB. If the page needs more than twice as many, it ends with an error."""

MAX_REQUESTS = 250
"""Maximum requests to DynamoDB that an operation may be expected to send."""

MAX_EVENT_REQUESTS = 5
"""Maximum requests to DynamoDB for one event of a subscription: enough for one or two fields that
read."""

MAX_ANSWER_VALUES = 12_000
"""Maximum expected values in an operation's response. Each costs some microseconds of CPU time. The
introspection of GraphiQL and of code generators is expected to have about 10,000."""

MAX_QUESTIONS = 10
"""Maximum questions to the analytics store in one operation. Each question reads all rows of a
product, or of the whole table."""

MAX_WAITING_QUESTIONS = 16
"""Maximum different questions, of all clients together, that the analytics store answers at the
same time."""

MAX_SEGMENTS = 60
"""Maximum partitions that a page reads: five ratings in each of twelve languages."""

MAX_MEMBERS = 60
"""Maximum products of a group. A page reads a partition of each product."""

MAX_DROPPED = 2_000
"""Maximum rows that a page reads and drops, about 140 RCU, when its filter selects more than
``MAX_SEGMENTS`` partitions and the page therefore reads a coarser index. At the limit the rest of
the page is planned once more, with the same limit."""

TICKET_ORGANIZATIONS = 20
"""Maximum organisations whose tickets the list `User.tickets` includes: the first by name. Each
costs one request to DynamoDB. Other users may add a user to more organisations, so the limit must
not turn the list into an error."""

MAX_WAITING_EVENTS = 500
MAX_WAITING_BYTES = 1_000_000
"""Maximum number of a subscription's events that wait to be sent, and their maximum bytes. A client
that is further behind reads the list again, which is faster."""

# Identifiers and texts

MAX_IDENTIFIER_BYTES = 512
"""Maximum bytes of an escaped identifier in UTF-8. An identifier and a date fit in a sort key,
whose maximum is 1,024 bytes."""

MAX_OPAQUE = 1_400
"""Maximum characters of a global id or a cursor: base64 of a type name and two identifiers."""

MAX_TITLE = 200
MAX_TEXT = 10_000
MAX_EXPLANATION = 500
"""Maximum characters of a comment's title, of its text, and of the explanation in a report."""

MAX_REPLY = 2_000
"""Maximum characters of the shop's reply. Lists read replies together with the comments."""

MAX_PHOTOS = 10
MAX_ALT = 200
"""Maximum photos of a comment, and maximum characters of a photo's text. Lists read them together
with the comments."""

MAX_UPLOAD = 10_000_000
"""Maximum bytes of an uploaded photo. Phones make photos of 2 to 6 MB."""

MAX_LANGUAGE = 35
"""Maximum characters of a language tag. BCP 47 (RFC 5646, section 4.4.1) requires programs to
accept tags of this length."""

KEPT_TAGS = 10_000
"""Number of language tags with a cached canonical form."""

MAX_ADDRESS = 2_048
"""Maximum characters of a URL in a link. All browsers and crawlers accept this length."""

MAX_EMAIL = 254
"""Maximum characters of an e-mail address, by RFC 5321."""

MAX_QUANTITY = 10_000
"""Maximum quantity of an order line."""

MAX_AMOUNT = 10**12
"""Exclusive upper bound of an amount in minor units: amounts have at most twelve digits."""

MAX_LINES = 90
"""Maximum lines of an order. A delivery is one transaction with an action for each product, and
DynamoDB allows 100 actions."""

MAX_FIRST_USERS = 90
"""Maximum users in the mutation that creates an organisation. DynamoDB allows 100 items in a
transaction."""

# Answers

MAX_ERRORS = 20
MAX_MESSAGE = 300
"""Maximum errors in a response, and maximum characters of each error's message. Without a limit,
the messages of graphql-core repeat the whole input."""

MAX_RESPONSE = 9_000_000
"""Maximum bytes of a response. The largest page has 7.8 MB: 100 comments, each with a text of
10,000 characters, a reply of 2,000 characters and 10 photos, at four bytes per character."""

# Forms and headers

MAX_FORM_FIELDS = 50
"""Maximum fields of an HTML form."""

MAX_JWT = 4_000
"""Maximum characters of the JWT that a visitor pastes to sign in. Browsers drop a cookie with more
than 4,096 characters in name and value."""

MAX_PAGE_ADDRESS = 8_000
"""Maximum bytes of a page's address, because the page repeats it in a link for each language. The
longest useful address, with an identifier and a cursor, has 3,000 bytes."""

MAX_HOST = 300
"""Maximum characters of a Host header: a host name has at most 253, a port five."""

MAX_REQUEST_ID = 128
"""Maximum characters of a request id, which the server writes to its log."""

# HTTP and WebSocket

MAX_BODY = 1_000_000
"""Maximum bytes of a request body. The longest comment needs 60,000 bytes."""

MAX_HEAD = 65_536
"""Maximum bytes of a request without its body: request line, headers, chunk sizes and trailers.
Browsers and CDNs send less than 16,000 bytes. The server needs many times these bytes in memory and
much CPU time for tiny chunks and headers."""

MAX_HEADERS = 100
"""Maximum headers and trailers of a request. Browsers behind CDNs send 40. Each needs about 110
bytes of memory."""

MAX_PIPELINED = 100
"""Maximum pipelined requests that wait on a connection. Each needs 2 kB of memory. Browsers do not
pipeline requests."""

MAX_BODIES = 64_000_000
"""Maximum bytes of request bodies that wait for processing, over all connections of a process."""

MAX_SOCKET_MESSAGE = 131_072
"""Maximum bytes of a WebSocket message. The longest document has 30,000 characters."""

MAX_FRAMES = 100
"""Maximum WebSocket frames per second on a connection. A front end subscribes to the 20 lists of a
page at once. Each frame costs 10 microseconds before other limits are checked."""

MAX_MESSAGE_FRAMES = 1_000
"""Maximum frames of one WebSocket message. Even an empty frame needs memory until the message is
complete."""

SEND_TIMEOUT = 30.0
"""Seconds in which a client must receive ``MIN_TAKEN`` bytes of a response."""

MIN_TAKEN = 16_384
"""Bytes that a client must receive in each ``SEND_TIMEOUT`` while its connection's write buffer is
full. Otherwise the server closes the connection: responses to slow clients would occupy memory for
hours."""

MAX_CLIENTS = 100_000
"""Maximum clients with a remembered request rate, in 40 MB of memory. The server forgets
the client that has sent no request for the longest time."""

SECONDS_OF_REQUEST = 0.002
"""Parsing a new document for this CPU time counts as one more request of the client. A short
document takes less time. A client that sends 100 requests per second, all with new documents, uses
a fifth of a core."""
