"""Who asks: JWTs and the secret that signs them."""
