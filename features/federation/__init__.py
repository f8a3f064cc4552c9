"""The subgraph of Apollo Federation."""
