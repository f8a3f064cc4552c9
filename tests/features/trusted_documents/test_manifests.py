"""Manifests of trusted documents: both formats, and the message about an invalid manifest."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from features.trusted_documents.document_files import read_manifests
from server.errors import CommandError

TEXT = "query Page { __typename }"
APOLLO: dict[str, Any] = {
    "format": "apollo-persisted-query-manifest",
    "version": 1,
    "operations": [{"id": "a1", "name": "Page", "type": "query", "body": TEXT}],
}


def written(directory: Path, content: object, name: str = "manifest.json") -> Path:
    file = directory / name
    file.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return file


@pytest.mark.parametrize("manifest", [{"a1": TEXT}, APOLLO])
def test_manifests_of_relay_and_apollo_are_read(tmp_path: Path, manifest: object) -> None:
    assert read_manifests([written(tmp_path, manifest)]) == {"a1": TEXT}


def test_several_manifests_are_combined(tmp_path: Path) -> None:
    files = [written(tmp_path, APOLLO), written(tmp_path, {"b": TEXT, "a1": TEXT}, "b.json")]
    assert read_manifests(files) == {"a1": TEXT, "b": TEXT}
    assert read_manifests([]) == {}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "JSON"),
        ([], "JSON object"),
        ({"a": 1}, "document 'a' "),
        ({"": TEXT}, "document '' "),
        (APOLLO | {"version": 2}, "'apollo-persisted-query-manifest'"),
        (APOLLO | {"format": "x"}, "'apollo-persisted-query-manifest'"),
        (APOLLO | {"operations": {}}, "'operations'"),
        (APOLLO | {"operations": [{"id": "a"}]}, "document 'a' "),
        (APOLLO | {"operations": [1]}, "document None "),
        (
            b'{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id": '
            + b"[" * 1_000
            + b"]" * 1_000
            + b"}]}",
            "needs an id",
        ),
    ],
)
def test_an_invalid_manifest_is_refused_with_a_message(
    tmp_path: Path, content: object, sentence: str
) -> None:
    with pytest.raises(CommandError) as caught:
        read_manifests([written(tmp_path, content)])
    assert sentence in str(caught.value)
    assert "manifest.json" in str(caught.value)


def test_a_missing_file_is_refused_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        read_manifests([tmp_path / "none.json"])


def test_one_id_for_two_texts_is_refused(tmp_path: Path) -> None:
    files = [written(tmp_path, {"a": TEXT}), written(tmp_path, {"a": "{ id }"}, "b.json")]
    with pytest.raises(CommandError, match=r"b\.json: the id 'a' already names another document"):
        read_manifests(files)
