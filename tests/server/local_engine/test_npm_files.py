"""The npm files that an image needs."""

from pathlib import Path

import pytest

from server.http.graphiql import FILES
from server.local_engine.npm_files import NODE_MODULES, copy
from server.local_engine.program import packaged_engine


def test_the_files_that_the_server_reads_are_copied_with_their_licences(tmp_path: Path) -> None:
    copy(NODE_MODULES, tmp_path)
    found = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    read = [packaged_engine(), *(one for one in FILES.values() if "node_modules" in one.parts)]
    about = {one for one in found if one.endswith(("/package.json", "/LICENSE"))}
    assert found - about == {str(one.relative_to(NODE_MODULES)) for one in read}
    assert {"graphiql/LICENSE", "react/LICENSE", "@graphiql/plugin-explorer/package.json"} < about
    assert all((tmp_path / one).read_bytes() == (NODE_MODULES / one).read_bytes() for one in found)
    assert (tmp_path / packaged_engine().relative_to(NODE_MODULES)).stat().st_mode & 0o111


def test_an_engine_may_be_left_out_and_nothing_else(tmp_path: Path) -> None:
    copy(NODE_MODULES, tmp_path / "whole")
    engine = packaged_engine().relative_to(NODE_MODULES)
    (tmp_path / "whole" / engine).unlink()
    copy(tmp_path / "whole", tmp_path / "without")
    assert (tmp_path / "without/graphiql/graphiql.min.js").is_file()
    assert not (tmp_path / "without/@dynoxide").exists()
    (tmp_path / "whole/graphiql/graphiql.min.js").unlink()
    with pytest.raises(FileNotFoundError):
        copy(tmp_path / "whole", tmp_path / "spoilt")
