"""The documentation as a site. Zensical, a site generator, builds it from the Markdown files."""
