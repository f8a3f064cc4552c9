"""What resolvers read and write through, a module per subject."""
