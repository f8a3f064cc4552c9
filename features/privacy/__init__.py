"""Privacy: exports all data of a user as one JSON object, and erases the data or the user's name.

Items: ``ERASURE#<random>`` / ``ERASURE#<random>``, a record of each erasure. The core stores the
state of a running erasure, in the user's standing, and the mark of an erased user. The kinds of
items, which the core and the features declare, say how to export and erase items.

Composition: ``dal.composition`` (kind of items, erasure of comments, orders and tickets),
``server.cli.main`` (the commands ``user export`` and ``user erase``).
"""
