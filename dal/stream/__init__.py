"""Statistics of tables that other programs write to: applies the table's stream to the counters."""
