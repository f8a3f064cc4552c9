"""Authentication: JWTs, and the secret with which a server signs its own JWTs."""
