"""The features of the shop. Each folder has the code of one feature, and the core imports none.

The core's roots of composition add the features: see the import contracts in ``pyproject.toml``.
"""
