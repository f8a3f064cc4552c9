"""langcodes' private names, under public names.

No other module uses a private name of langcodes. pyproject.toml limits the version of langcodes,
and ``tests/test_private_names.py`` fails if a name changes.
"""

from langcodes import Language

PARSED = Language._PARSE_CACHE
INSTANCES = Language._INSTANCES
"""langcodes' caches of tags, which langcodes never empties."""
