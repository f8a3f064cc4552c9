"""The settings of the subgraph of Apollo Federation."""

from dataclasses import dataclass

from server.option import setting


@dataclass(frozen=True, kw_only=True)
class FederationSettings:
    """The settings of the subgraph of Apollo Federation."""

    federation: bool = setting(
        False,
        "Serve the schema as a subgraph of Apollo Federation 2, with '_service', '_entities' and "
        "the keys of products, comments and authors.",
    )
