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


def has_plans(settings: PlanSettings, *, demo: bool) -> bool:
    """Return whether the API has the field ``plan``. ``demo``: the server is a demo."""
    return demo if settings.explain is None else settings.explain


def checked(settings: PlanSettings, *, demo: bool, public: bool) -> Finding:
    """Check that only this machine can see plans. ``public``: other machines reach the server."""
    shown = has_plans(settings, demo=demo)
    if public and shown:
        return warning("plans", "every client can see key ranges: add --no-explain.")
    return ok("plans", "shown, only on this machine." if shown else "not shown.")
