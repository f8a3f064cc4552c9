"""Moderation: users report comments, and moderators decide which comments are published.

A comment waits for a moderator if the server's rule, a block of its author or reports require it.

Items: ``CASE#<comment>`` / ``CASE``, a comment's case with the latest decision on it, and
``CASE#<comment>`` / ``REPORT#<username>``, one for each report. A comment that waits is a
submission, which the core stores.

Composition: ``dal.stores`` (write rule, repositories), ``dal.composition`` (kinds of items,
correction, access patterns), ``schema.comments`` (``submission`` of payloads), ``schema.users``
(``submissions``), ``schema.roots`` (``moderationQueue``, ``node``, mutations), ``schema.build``
(type), ``server.app`` (decides which comments are published).
"""
