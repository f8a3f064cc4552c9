"""The settings of aspects."""

from dataclasses import dataclass

from dal.table.errors import InvalidArgumentError
from features.aspects.labels import labels_of
from server.option import setting


def _is_valid(text: str) -> bool:
    try:
        labels_of(text)
    except InvalidArgumentError:
        return False
    return True


_ASPECTS = (
    _is_valid,
    "is not a list of up to six different aspects, such as 'fit=Fit;de=Passform,quality'.",
)


@dataclass(frozen=True, kw_only=True)
class AspectSettings:
    """The settings of aspects."""

    aspects: str | None = setting(
        None,
        "Aspects of products that customers can rate, at most six, separated by commas: "
        "fit,quality,value. An aspect can have a label, and labels in other languages: "
        "'fit=Fit;de=Passform,quality'. A renamed aspect is a new aspect.",
        check=_ASPECTS,
    )
