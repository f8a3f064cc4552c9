"""Authentication: JWTs, and the secret by which a server signs its own JWTs."""
