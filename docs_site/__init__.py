"""The documentation as a site: pages by hand, pages made of the code, and what builds them."""
