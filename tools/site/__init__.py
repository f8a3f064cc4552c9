"""The documentation as a site, which Zensical builds from the repository's Markdown."""
