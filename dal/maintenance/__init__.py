"""Operations on the whole table: create, upgrade, rebuild and verify."""
