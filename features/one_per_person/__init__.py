"""One comment per person: the table can limit each user to one comment on a product.

``marginalia table one-per-person`` turns the limit on and off. While it is on, each comment has a
reservation of its author and product, which the transaction of the comment's write changes.

Items: ``USER#<username>`` / ``COMMENTED#<product>``, a reservation with the comment's id, one for
each author and product. ``COMMENTED`` / ``<id>``, one for each older comment of such an author. The
limit is an attribute of the maintenance item.

Composition: ``dal.stores`` (write rule, the command that runs alone), ``dal.composition`` (kinds of
items, correction, sentence of ``table describe``), ``server.cli.main`` (the command).
"""
