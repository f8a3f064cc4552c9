"""The argument ``planBy`` of ``Product.comments``."""

from typing import Annotated, TypeAlias

import strawberry

from dal.query.plan import WITHOUT_STATISTICS, PlanBasis
from schema.execution.facts import EXPLAINED, FullPages, argument_fact

PlanBy: TypeAlias = Annotated[
    PlanBasis | None,
    strawberry.argument(
        description="Statistics that the optimizer may use to plan the page. The page has the "
        "same rows with every value, so you can compare the plans. Default ROW_LOCATIONS.",
        metadata=EXPLAINED | argument_fact(FullPages(WITHOUT_STATISTICS)),
    ),
]
