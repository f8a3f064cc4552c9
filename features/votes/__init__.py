"""Helpful votes: users mark the comments of other users as helpful, and withdraw their marks.

Items: ``VOTES#<comment>`` / ``<username>``, one for each vote, and ``USER#<username>`` /
``VOTED#<comment>``, one for each recent vote. The number of votes is a field of the comment, which
the core stores and sorts by. A background task updates the number.

Composition: ``dal.stores`` (folds, write rule, repository), ``dal.composition`` (kinds of items,
correction, access patterns), ``schema.comments`` (``helpfulCount``, ``viewerFoundHelpful``),
``schema.products`` (``highlights``), ``schema.roots`` (``markHelpful``, ``unmarkHelpful``).
"""
