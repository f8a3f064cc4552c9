"""The execution tests of graphql-core and Strawberry, with compiled execution."""
