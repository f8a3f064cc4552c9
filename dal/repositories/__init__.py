"""The repositories, through which resolvers read and write: a module per subject."""
