"""The setting of the plans of reads."""

from dataclasses import dataclass

from server.findings import Finding, ok, warning
from server.option import setting


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """The setting of the plans of reads."""

    explain: bool | None = setting(
        None,
        "Add the field 'plan' to the API. It shows how the rows of a list were read, and the cost. "
        "Default: on with --demo, otherwise off.",
    )


def checked(*, explain: bool | None, public: bool) -> Finding:
    """Check that only this machine can see plans. ``public``: other machines reach the server."""
    if public and explain:
        return warning("plans", "every client can see key ranges: add --no-explain.")
    return ok("plans", "shown, only on this machine." if explain else "not shown.")
