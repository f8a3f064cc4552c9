"""Execution tests of graphql-core and Strawberry, run through compiled execution."""
