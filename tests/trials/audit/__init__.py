"""What others' tools find in a running server: protocol, browsers, attacks, schema."""
