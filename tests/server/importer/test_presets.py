from pathlib import Path

import pytest

from server.errors import CommandError
from server.importer import presets as module
from server.importer.column_mapping import make_column_mapping
from server.importer.file_kinds import COMMENTS
from server.importer.fitting import preset_for
from server.importer.formats import Layout, format_by_content
from server.importer.presets import NO_PRESET, find_preset, preset_names, presets
from server.importer.source import open_source
from tests.server.importer.samples import SAMPLES


def test_ours_are_well_formed_and_about_something() -> None:
    for name, preset in presets().items():
        assert preset.name == name
        assert preset.about
        assert make_column_mapping(COMMENTS, [], [], preset).columns["rating"]


def test_without_one_nothing_is_known() -> None:
    assert find_preset(None) is NO_PRESET


@pytest.mark.parametrize("preset", preset_names())
def test_a_sample_is_recognised_by_its_columns(tmp_path: Path, preset: str) -> None:
    path = tmp_path / "sample"
    path.write_bytes(SAMPLES[preset][1]())
    with open_source(path) as source:
        format_ = format_by_content(source.head)
        columns = Layout(format_, row=presets()[preset].row).open(source).columns
    assert format_ == presets()[preset].format
    assert preset_for(columns, format_) == preset


def test_one_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    example = (module.__doc__ or "").partition("\n\n")[2].partition("\n\n")[0]
    path.write_text(example.replace('"ms"', '"us"'))
    preset = find_preset(str(path))
    assert (preset.name, preset.delimiter, preset.date_unit) == (str(path), ";", "us")
    assert preset.id_from == ["customer", "sku"]
    assert preset.known() == {"customer", "sku"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("format = ", "is not TOML: Invalid value"),
        (b"about = '\xff'", "is not TOML: 'utf-8' codec can't decode"),
        ("colour = 1", ": colour is not known; a preset has about, format, kind, encoding"),
        ("format = 'xls'", ": format is 'xls'; it must be one of jsonl, csv, xml, parquet."),
        (
            "kind = 5",
            (
                ": kind is 5; it must be one of comments, orders, organizations, tickets, "
                "profiles, products."
            ),
        ),
        ("encoding = 5", ': encoding is not of the form "text".'),
        ("id_from = 'a,b'", ': id_from is not of the form ["column", "column"].'),
        ("map = ['a=b']", ': map is not of the form field = "column".'),
        ("[map]\nid = 5", ': map is not of the form field = "column".'),
        ("[keep]\nstate = 'ok'", ': keep is not of the form column = ["cell", "cell"].'),
        ("[values]\nrating = 5", ": values is not of the form [values.field] with"),
        ("[set]\nlanguage = []", ': set is not of the form field = "value".'),
    ],
)
def test_a_preset_that_is_none(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = tmp_path / "shop.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CommandError) as caught:
        find_preset(str(path))
    assert f"--preset {path}" in str(caught.value)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("amazon", "--preset amazon is not known: choose one of amazon-2014, amazon-2018,"),
        ("none.toml", "--preset none.toml cannot be read: No such file or directory."),
    ],
)
def test_a_preset_that_is_not_there(name: str, sentence: str) -> None:
    with pytest.raises(CommandError) as caught:
        find_preset(name)
    assert str(caught.value).startswith(sentence)
