"""A subject has a module of types in schema and a module of the same name in resolvers.

A feature has the modules types and resolvers. Inputs, and the values that mutations return, are
next to their mutation in resolvers. The GraphQL types of these values are in schema, or in types.
"""

import ast

from tests.engines import ROOT

SHARED = {
    "schema": {"build", "costs", "errors", "roots", "types"},
    "resolvers": {
        "authorization",
        "change_log",
        "context",
        "info_door",
        "json_ld",  # the texts of the fields `jsonLd` of several types
        "mutations",
        "node_ids",
        "nodes",
        "photo_files",
        "product_sets",
        "publication",
        "selection",
        "shop_aspects",
    },
}


def decorated(module: ast.Module, decorator: str) -> set[str]:
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    return {
        node.name
        for node in classes
        if any(ast.unparse(one).startswith(decorator) for one in node.decorator_list)
    }


def test_subjects_have_the_same_names_in_schema_and_resolvers() -> None:
    subjects = {
        folder: {path.stem for path in (ROOT / folder).glob("[!_]*.py")} - shared
        for folder, shared in SHARED.items()
    }
    assert subjects["schema"] == subjects["resolvers"]


def test_inputs_are_in_resolvers_and_other_types_in_schema() -> None:
    for pattern, decorator in (
        ("schema/[!_]*.py", "strawberry.input"),
        ("features/*/types.py", "strawberry.input"),
        ("resolvers/[!_]*.py", "strawberry.type"),
        ("features/*/resolvers.py", "strawberry.type"),
    ):
        files = {str(path): ast.parse(path.read_text("utf-8")) for path in ROOT.glob(pattern)}
        found = {name: decorated(tree, decorator) for name, tree in files.items()}
        assert {name: classes for name, classes in found.items() if classes} == {}
