"""Authentication: JWTs, and the secret that signs a server's own."""
