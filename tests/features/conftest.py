"""Fixtures for the tests of features: operations on the schema."""

from tests.schema.conftest import run, run_each, schema

__all__ = ["run", "run_each", "schema"]
