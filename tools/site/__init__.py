"""The documentation as a site: Zensical over the Markdown of the repository."""
