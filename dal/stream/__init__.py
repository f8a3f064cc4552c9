"""Statistics of tables that other programs write to: the table's stream applied to counters."""
