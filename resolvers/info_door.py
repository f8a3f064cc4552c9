"""The private part of Strawberry's ``Info``, under a public name.

Strawberry's public ``selected_fields`` copies the whole tree of selected fields. pyproject.toml
limits Strawberry's version, and ``tests/test_private_names.py`` fails if the name changes.
"""

from typing import Any

from graphql import GraphQLResolveInfo
from strawberry import Info


def raw_info(info: Info) -> GraphQLResolveInfo[Any]:
    """Return graphql-core's info of a field."""
    return info._raw_info
