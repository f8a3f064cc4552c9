"""Tools of other projects on a running server: protocol, browsers, attacks, schema."""
