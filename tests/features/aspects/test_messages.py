"""The sentences of aspects."""

import pytest

from server.errors import CommandError
from server.settings import Settings


def test_a_refused_setting_has_a_sentence() -> None:
    with pytest.raises(CommandError) as caught:
        Settings(aspects="Fit")
    assert str(caught.value) == (
        "--aspects Fit is not a list of up to six different aspects, such as "
        "'fit=Fit;de=Passform,quality'."
    )
