"""Limits on what a client may send: each with its number and the reason."""

# HTTP and WebSocket

MAX_BODY = 1_000_000
"""Bytes of a request's body; the longest comment takes 60,000 of them."""

MAX_HEAD = 65_536
"""Bytes of a request besides its body: head, chunk sizes and trailers. Browsers and CDNs send less
than 16,000; each byte of a tiny chunk or header costs memory and CPU many times over."""

MAX_HEADERS = 100
"""Headers and trailers of a request; browsers behind CDNs send 40. Each takes some 110 bytes."""

MAX_PIPELINED = 100
"""Requests of a connection that wait for an earlier one: each takes 2 kB. Browsers send none."""

MAX_BODIES = 64_000_000
"""Bytes of bodies that are incomplete or wait for their turn, of all connections of a process."""

MAX_SOCKET_MESSAGE = 131_072
"""Bytes of a WebSocket message: the longest document is 30,000 characters."""

MAX_FRAMES = 100
"""WebSocket frames of a connection in a second, whatever they hold: a front end opens a page's 20
lists at once, and a frame costs 10 microseconds before any other limit sees it."""

MAX_MESSAGE_FRAMES = 1_000
"""Frames of one WebSocket message: even empty ones take memory until the message is complete."""

SEND_TIMEOUT = 30.0
"""Seconds in which a client must take ``MIN_TAKEN`` bytes of what the server has for it."""

MIN_TAKEN = 16_384
"""Bytes that a client must take in ``SEND_TIMEOUT`` while its connection's write buffer is full: a
slower one would keep the memory of its answers for hours."""
