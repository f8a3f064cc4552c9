"""Invitations: customers comment on the products of an order by a link, without an account.

A link contains a JWT of the scope ``comment``. The shop sends links with its own mailer.

Items: ``USER#<username>`` / ``INVITATION#<order>``, an invitation with its products, and the times
of the delivery, of the last link, and of a revocation.

Composition: ``dal.stores`` (repository), ``dal.composition`` (kind of items, access patterns),
``schema.roots`` (``invitation``, ``dueInvitations``, mutations), ``schema.errors`` (the code of a
revoked link), ``server.services`` (reads the scope of JWTs, signs links, fills the list of due
invitations), ``server.settings`` (``--invitations``), ``server.cli.main`` (``invite``).
"""
