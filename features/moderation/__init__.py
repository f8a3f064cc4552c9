"""Moderation: users report comments, and moderators decide which comments are published.

A comment waits for a moderator if the server's rule, a block of its author or reports require it.

Items: ``CASE#<comment>`` / ``CASE``, a comment's case with the latest decision on it, and
``CASE#<comment>`` / ``REPORT#<username>``, one for each report. A comment that waits is a
submission, and a block is in a user's standing. The core stores both.

Composition: ``dal.stores`` (write rule, repositories), ``dal.composition`` (kinds of items,
correction, access patterns), ``schema.comments`` (``submission`` of payloads), ``schema.users``
(``submissions``), ``schema.roots`` (``moderationQueue``, ``blockedUsers``, ``node``, mutations),
``server.app`` (decides which comments are published), ``server.services`` (the server's rule),
``server.checks`` (a check of the file of words), ``server.settings`` (``--moderation``,
``--moderation-words``, ``--review-at``), ``server.cli.main`` (the commands ``user block``, ``user
unblock`` and ``user blocked``).
"""
