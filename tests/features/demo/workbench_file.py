"""Writes docs/nosql-workbench.json from the definition of the table. `make docs` runs it."""

import json
from datetime import UTC, datetime

from features.demo.workbench import sample_items, workbench_model
from tests.engines import ROOT

FILE = ROOT / "docs/nosql-workbench.json"
_DATES = ("DateCreated", "DateLastModified")


def made(before: str) -> str:
    """Return the text of the file. If only its dates differ from ``before``, they stay the same."""
    model = workbench_model("marginalia", sample_items(), datetime.now(UTC))
    old = json.loads(before) if before else {"ModelMetadata": {}}
    dates = {name: old["ModelMetadata"].get(name) for name in _DATES}
    dated = model | {"ModelMetadata": model["ModelMetadata"] | dates}
    return f"{json.dumps(dated if dated == old else model, indent=2, ensure_ascii=False)}\n"


if __name__ == "__main__":
    FILE.write_text(made(FILE.read_text("utf-8") if FILE.exists() else ""), "utf-8")
