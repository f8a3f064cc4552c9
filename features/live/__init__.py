"""Live comments: clients subscribe to the changes of a product's comments.

A server keeps a log of the latest changes. Clients receive events over WebSocket, or as server-sent
events. Several processes send changes to each other through Redis.

Items: none.

Composition: ``schema.build`` (the type ``Subscription``), ``schema.comments`` (``eventCursor``),
``server.services`` (opens the broker, which is the last write rule, and passes erasures to it),
``server.app`` (WebSockets and event streams), ``server.settings`` (``--redis-url``),
``server.checks`` (a check of Redis).
"""
