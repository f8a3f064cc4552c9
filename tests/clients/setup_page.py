"""Generates the parts of docs/client-setup.md that depend on the schema.

`make docs` writes them: the object literals of the constants in ``MADE``. The other code and the
text are written by hand.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_object_type,
    is_scalar_type,
    is_specified_scalar_type,
)

from tests.engines import ROOT

PAGE = ROOT / "docs/client-setup.md"
WIDTH = 100

_CONSTANT = re.compile(
    r'^(?P<indent> *)(?P<before>(?:const |")(?P<name>\w+)(?:"?:| =) )\{\n.*?^(?P=indent)\}',
    re.MULTILINE | re.DOTALL,
)
_SCALARS = re.compile(r"(<!-- scalars -->).*?(<!-- end -->)", re.DOTALL)
_BLOCK = re.compile(
    r"^`(?P<file>[\w.-]+)`:\n\n(?:<!-- .*? -->\n)?```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PAGING = {"first", "after", "last", "before"}
_PARTS_OF_LISTS = re.compile(r"(Connection|Edge|PageInfo)$")


def schema() -> GraphQLSchema:
    return build_schema((ROOT / "schema.graphql").read_text("utf-8"))


def page(before: str, schema: GraphQLSchema) -> str:
    """Return the page with new constants."""

    def made(found: re.Match[str]) -> str:
        if found["name"] not in MADE:
            return found[0]
        literal = _literal(MADE[found["name"]](schema), len(found["indent"]), 0)
        return f"{found['indent']}{found['before']}{literal}"

    names = ", ".join(f"`{name}`" for name in scalars(schema))
    return _SCALARS.sub(rf"\g<1>{names}\g<2>", _CONSTANT.sub(made, before))


def blocks() -> dict[str, str]:
    """Return the page's blocks, by the files that the lines before the blocks name."""
    found = _BLOCK.finditer(PAGE.read_text("utf-8"))
    return {one["file"]: one["text"] for one in found}


def write_blocks(directory: Path) -> None:
    """Write the page's blocks as modules into a directory, with the packages of the clients."""
    for name, text in blocks().items():
        (directory / name).write_text(text, "utf-8")
    (directory / "package.json").write_text('{"type": "module"}')
    (directory / "node_modules").symlink_to(Path(__file__).parent / "node_modules")


def type_policies(schema: GraphQLSchema) -> dict[str, Any]:
    """Return the type policies of Apollo's cache.

    Apollo warns of lost data if a stored object without id, or a list, gets a smaller value.
    """
    stored = _stored(schema)
    policies: dict[str, Any] = {}
    single = {
        get_named_type(field.type).name
        for owner in stored
        for field in owner.fields.values()
        if not _has_list(field)
    }
    for owner in stored:
        fields: dict[str, Any] = {}
        for name, field in owner.fields.items():
            if _is_list_field(field):
                names = [json.dumps(one) for one in field.args if one not in _PAGING]
                fields[name] = ("relayStylePagination", names)
            elif _has_list(field) and _is_of_objects(field):
                fields[name] = "replace"
        keeps = owner.name in single and not _is_keyed(owner)
        if fields:
            policies[owner.name] = ({"...keep": None} if keeps else {}) | {"fields": fields}
        elif keeps:
            policies[owner.name] = "keep"
    return policies


def keys(schema: GraphQLSchema) -> dict[str, Any]:
    """Return the types without id, which Graphcache stores within other objects."""
    return {
        one.name: "embedded" for one in _stored(schema) if not _is_keyed(one) if one.name != "Query"
    }


def resolvers(schema: GraphQLSchema) -> dict[str, Any]:
    """Return the resolvers by which Graphcache joins the pages of lists."""
    found = {}
    for owner in _stored(schema):
        names = [name for name, field in owner.fields.items() if _is_list_field(field)]
        if names:
            found[owner.name] = dict.fromkeys(names, "pages")
    return found


def scalars(schema: GraphQLSchema) -> dict[str, Any]:
    """Return the types of the API's scalars in TypeScript. In JSON, all of them are texts."""
    own = (one for one in schema.type_map.values() if is_scalar_type(one))
    return {one.name: '"string"' for one in own if not is_specified_scalar_type(one)}


def custom_scalar_types(schema: GraphQLSchema) -> dict[str, Any]:
    """Return the same types for Relay's configuration, which is JSON."""
    return {json.dumps(name): kind for name, kind in scalars(schema).items()}


MADE: Mapping[str, Callable[[GraphQLSchema], dict[str, Any]]] = {
    "typePolicies": type_policies,
    "keys": keys,
    "resolvers": resolvers,
    "scalars": scalars,
    "customScalarTypes": custom_scalar_types,
}


def _stored(schema: GraphQLSchema) -> list[GraphQLObjectType]:
    """Return the types of the objects that queries return, by name, without parts of lists.

    Caches do not store the payloads of mutations and events.
    """
    assert schema.query_type
    found, waiting = {"Query": schema.query_type}, [schema.query_type]
    while waiting:
        for field in waiting.pop().fields.values():
            named = get_named_type(field.type)
            reached = schema.get_possible_types(named) if named.name == "Node" else [named]
            for one in reached:
                if is_object_type(one) and one.name not in found:
                    found[one.name] = one
                    waiting.append(one)
    return [found[name] for name in sorted(found) if not _PARTS_OF_LISTS.search(name)]


def _is_keyed(owner: GraphQLObjectType) -> bool:
    return "id" in owner.fields


def _is_list_field(field: GraphQLField) -> bool:
    return get_named_type(field.type).name.endswith("Connection")


def _has_list(field: GraphQLField) -> bool:
    return isinstance(get_nullable_type(field.type), GraphQLList)


def _is_of_objects(field: GraphQLField) -> bool:
    return hasattr(get_named_type(field.type), "fields")


def _literal(value: Any, indent: int, before: int) -> str:
    """Return a value as JavaScript, on one line if it fits after ``before`` characters.

    A dict is an object, a tuple a call with an array. The outermost object has several lines.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        opening, closing, pad, inner = f"{value[0]}([", "])", "", list(value[1])
    else:
        opening, closing, pad = "{", "}", " "
        inner = [
            name if one is None else f"{name}: {_literal(one, indent + 2, len(name) + 2)}"
            for name, one in value.items()
        ]
    line = f"{opening}{pad}{', '.join(inner)}{pad}{closing}"
    if before and "\n" not in line and indent + before + len(line) < WIDTH:
        return line
    rows = ",\n".join(f"{' ' * (indent + 2)}{one}" for one in inner)
    last = "" if rows.lstrip().startswith('"') and pad else ","  # JSON has no comma at the end
    return f"{opening}\n{rows}{last}\n{' ' * indent}{closing}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8"), schema()), "utf-8")
