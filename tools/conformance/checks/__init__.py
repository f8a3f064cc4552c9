"""All checks, in the order in which they are run."""

from tools.conformance.checks import flags, nodes, pages, sizes, types, writes

CHECKS = (
    *types.CHECKS,
    *pages.CHECKS,
    *flags.CHECKS,
    *sizes.CHECKS,
    *nodes.CHECKS,
    *writes.CHECKS,
)
