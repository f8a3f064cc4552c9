"""Verification with the corrections of the product."""

from dal.composition import CORRECTIONS
from dal.dynamodb.scan import Progress
from dal.dynamodb.table import Table
from dal.kinds.correction import Correction
from dal.maintenance import verify as verification
from dal.maintenance.verify import Difference


async def verify(table: Table, seen: Progress, *given: Correction) -> list[Difference]:
    """Verify a table as ``stats verify`` does. Corrections in ``given`` replace equal ones."""
    own = {type(one): one for one in given}
    made = [create(table) for create in CORRECTIONS]
    return await verification.verify(table, seen, [own.get(type(one), one) for one in made])
