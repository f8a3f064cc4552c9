"""The random writes of the core and of all features."""

from tests.features.loading.writes import LOADS
from tests.features.moderation.writes import MODERATION
from tests.features.privacy.writes import ERASURES
from tests.features.votes.writes import VOTES
from tests.writers import WRITES

ALL_WRITES = {**WRITES, **LOADS, **MODERATION, **VOTES, **ERASURES}
