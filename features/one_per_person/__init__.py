"""One comment per person: the table can limit each user to one comment on a product."""
