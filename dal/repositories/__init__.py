"""The repositories, one module per subject. Resolvers read and write the table through them."""
