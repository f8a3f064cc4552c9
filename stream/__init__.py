"""Statistics of tables that other programs write to: counted from the table's stream."""
