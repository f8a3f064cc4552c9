"""Fixtures for the tests of features: a client of the streams, and operations on the schema."""

from tests.dal.conftest import streams
from tests.schema.conftest import run, run_each, schema

__all__ = ["run", "run_each", "schema", "streams"]
