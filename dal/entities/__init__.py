"""Per entity one declaration: keys, indexes, filter fields, codec."""
