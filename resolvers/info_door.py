"""The private part of Strawberry's ``Info``, under a public name.

Strawberry's public ``selected_fields`` copies the whole tree of selected fields. pyproject.toml
limits Strawberry's version, and ``tests/test_private_names.py`` fails if the name changes.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from graphql import GraphQLResolveInfo
from strawberry import Info

raw_info: Callable[[Info], GraphQLResolveInfo[Any]] = attrgetter("_raw_info")
"""Returns graphql-core's info of a field."""
