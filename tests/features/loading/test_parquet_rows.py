"""Values of every Parquet type become JSON values."""

from pathlib import Path

import duckdb
import pytest

from features.loading.parquet_rows import open_parquet
from server.errors import CommandError

VALUES = {
    "1::TINYINT": 1,
    "18446744073709551615::UBIGINT": 18446744073709551615,
    "4.5::DOUBLE": 4.5,
    "'nan'::DOUBLE": "nan",
    "12.50::DECIMAL(9, 2)": "12.50",
    "TRUE": True,
    "'zoë'": "zoë",
    "NULL::VARCHAR": None,
    "DATE '2020-11-20'": "2020-11-20",
    "TIMESTAMP '2020-11-20 12:00:00.123456'": "2020-11-20T12:00:00.123456Z",
    "TIMESTAMP_NS '2020-11-20 12:00:00.123456400'": "2020-11-20T12:00:00.123456Z",
    "TIMESTAMP_S '2020-11-20 12:00:00'": "2020-11-20T12:00:00.000000Z",
    "TIMESTAMPTZ '2020-11-20 12:00:00.5+02'": "2020-11-20T10:00:00.500000Z",
    "TIMESTAMP '20000-01-01'": "20000-01-01T00:00:00.000000Z",
    "NULL::TIMESTAMPTZ": None,
    "[{'product_id': 'a', 'quantity': 2}]": [{"product_id": "a", "quantity": 2}],
    "MAP {'a': 1}": {"a": 1},
    "[1.5, 'nan'::DOUBLE, '-inf'::DOUBLE]": [1.5, "nan", "-inf"],
    "NULL::VARCHAR[]": None,
}


def test_values_of_every_type_are_read(tmp_path: Path) -> None:
    path = tmp_path / "every [type]*?.parquet"
    columns = ", ".join(f'{value} AS "c""{number}"' for number, value in enumerate(VALUES))
    plain = tmp_path / "p.parquet"
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT {columns} FROM range(3)) TO '{plain}'")
    plain.rename(path)
    with open_parquet(path) as (names, rows):
        read = list(rows)
        assert names == [f'c"{number}' for number in range(len(VALUES))]
    assert [row.line for row in read] == [1, 2, 3]
    for row in read:
        assert list(row.cells.values()) == list(VALUES.values())


def test_a_file_that_is_not_parquet_is_refused_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.parquet"
    text.write_text("id,rating\n" * 100)
    for path, message in (
        (text, r"text\.parquet .* Parquet file \("),
        (tmp_path / "absent.parquet", r"absent\.parquet does not exist"),
        (tmp_path, f"{tmp_path} is a directory"),
    ):
        with pytest.raises(CommandError, match=message) as caught, open_parquet(path):
            pass
        assert "\n" not in str(caught.value)


def test_damage_after_the_first_rows_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    with duckdb.connect() as database:
        database.execute(
            "COPY (SELECT md5(number::VARCHAR) AS id FROM range(100_000) t(number)) "
            f"TO '{path}' (ROW_GROUP_SIZE 10_000)"
        )
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 400_000] = b"\xff" * 400_000
    path.write_bytes(content)
    with (
        pytest.raises(CommandError, match=r"damaged\.parquet .* Parquet file \(") as caught,
        open_parquet(path) as (_, rows),
    ):
        list(rows)
    assert "\n" not in str(caught.value)
