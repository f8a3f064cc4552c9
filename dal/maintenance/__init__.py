"""Operations on the whole table: create, upgrade, rebuild, verify, export and erase."""
