"""Groups of products: the products of a group are variants of one product, such as its colours.

Items: ``GROUP#<group>`` / ``MEMBERS``, one for each group. The group of a product is one of the
product's details, which the core stores.

Composition: ``dal.stores`` (repository, purchases of variants), ``dal.composition`` (kind of items,
access patterns), ``schema.products`` (``Product.group``), ``schema.roots`` (``node``),
``schema.build`` (key of Apollo Federation).
"""
