"""Operations on the whole table: upgrade, rebuild, verify, export."""
