"""Statistics of tables that other programs also write to, counted from the table's stream."""
