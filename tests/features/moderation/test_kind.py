"""The rows of reports in files, and what `marginalia stats verify` says of cases."""

import pytest

from dal.dynamodb.table import Table
from dal.table.errors import InvalidArgumentError
from features.moderation.kind import REPORT_FILE, CaseCorrection


def test_only_users_with_accounts_report() -> None:
    (field,) = (one for one in REPORT_FILE.fields if one.name == "username")
    assert field.parse("username", " ana") == "ana"
    with pytest.raises(InvalidArgumentError, match="account") as caught:
        field.parse("username", "erased-1a2b3c4d")
    assert caught.value.argument == "username"


def test_the_report_has_the_numbers_of_corrected_cases(table: Table) -> None:
    cases = CaseCorrection(table)
    assert not cases.report()
    cases.opened, cases.closed = 1_000, 2
    assert "1,000" in cases.report()
    assert "2 comments" in cases.report()
