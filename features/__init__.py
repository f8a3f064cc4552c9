"""Features. Each folder has the code of one feature.

Of the core, only the roots of composition import features: see the import contracts in
``pyproject.toml``.
"""
