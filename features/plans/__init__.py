"""Plans: how the server read a page, at what cost, and why the optimizer chose the index.

The core counts the cost of each page. If a request selects rows, steps or alternatives of a plan,
this feature also observes the read, and keeps each row that was read. ``marginalia explain`` prints
a plan.

Items: none.

Composition: ``schema.types`` (``Connection.plan``), ``resolvers.products`` (the argument
``planBy``), ``server.services`` (which pages to observe; whether the schema has plans),
``server.settings`` (``--explain``), ``server.checks`` (a check of the setting), ``server.cli.main``
(the command).
"""
