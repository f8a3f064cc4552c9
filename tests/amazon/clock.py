"""The service's clock. It is stopped until a test advances it, or it runs at a fixed rate."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that starts at START.

    Each real second adds ``pace`` seconds, each call adds ``tick``.
    """

    pace: float = 0.0
    tick: float = 0.0
    _turned: float = 0.0
    _began: float = field(default_factory=monotonic)

    @property
    def now(self) -> float:
        """Seconds since START."""
        running = self.pace * (monotonic() - self._began) if self.pace else 0.0
        return self._turned + running

    @property
    def date(self) -> datetime:
        """The date in the service's responses."""
        return START + timedelta(seconds=self.now)

    @property
    def headers(self) -> dict[str, object]:
        """The headers with the time of a response, as the SDK returns them."""
        return {"HTTPHeaders": {"date": format_datetime(self.date, usegmt=True)}}

    def advance(self, seconds: float) -> None:
        self._turned += seconds
