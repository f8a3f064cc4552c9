"""All checks, in the order of a run."""

from tools.conformance.checks import flags, nodes, pages, sizes, types, writes

CHECKS = (
    *types.CHECKS,
    *pages.CHECKS,
    *flags.CHECKS,
    *sizes.CHECKS,
    *nodes.CHECKS,
    *writes.CHECKS,
)
