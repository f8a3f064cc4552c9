"""BCP 47 language tags in canonical form."""

from langcodes import Language, standardize_tag
from langcodes.tag_parser import LanguageTagError

from dal.limits import KEPT_TAGS


def standardized(tag: str) -> str:
    """Return a tag standardized until that changes nothing; an empty string for what is no tag.

    A new form may have a newer one.
    """
    if len(Language._PARSE_CACHE) > KEPT_TAGS:  # noqa: SLF001 - it would remember every tag for ever
        Language._PARSE_CACHE.clear()  # noqa: SLF001
        Language._INSTANCES.clear()  # noqa: SLF001
    try:
        standard = standardize_tag(tag)
    except LanguageTagError:
        return ""
    return tag if standard == tag else standardized(standard)
