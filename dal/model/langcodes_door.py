"""langcodes' private names, under public names.

No other module uses a private name of langcodes. pyproject.toml limits the version of langcodes,
and ``tests/test_private_names.py`` fails if a name changes.
"""

from langcodes import Language


def limit_cache(tags: int) -> None:
    """Empty the caches of langcodes above ``tags`` tags. langcodes itself never empties them."""
    if len(Language._PARSE_CACHE) > tags:
        Language._PARSE_CACHE.clear()
        Language._INSTANCES.clear()
