"""Tools of other projects that check a running server: protocol, browsers, attacks, schema."""
