"""The templates, compiled once for each language, with its words where the messages stand.

A page says some hundred messages and fills a few of them in, so that they are looked up when a
template is compiled and not each time that it is shown.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jinja2
import orjson
from jinja2 import nodes
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from server.pages import addresses, formats, i18n, plan_words, static_files
from server.pages.operations import TEMPLATES

_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class _Environment(jinja2.Environment):
    """Jinja's environment, told what our templates are: indented HTML about what JSON holds."""

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """Leave the indentation out, which is an eighth of a page."""
        return _INDENTATION.sub("", super().preprocess(source, name, filename))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look into a dict for ``obj.attribute`` first, which costs an exception otherwise."""
        if type(obj) is dict and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def _generate(self, source: nodes.Template, *args: Any, **options: Any) -> str:
        return super()._generate(_Translation().visit(source), *args, **options)


class _Translation(NodeTransformer):
    """Writes the messages of a template's tree in the language in force."""

    def visit_Call(self, node: nodes.Call) -> nodes.Expr:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        name = getattr(node.node, "name", None)
        if name in {"_", "gettext"} and not node.kwargs:
            return nodes.Const(_told(node) % {}, lineno=node.lineno)
        if name == "ngettext":  # a filter is called without the detour that a function takes
            one, many, count = node.args
            return nodes.Filter(
                count, "counted", [one, many], node.kwargs, None, None, lineno=node.lineno
            )
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        node.nodes = [part for one in node.nodes for part in _parts(one)]
        return node


def _parts(node: nodes.Expr) -> Iterator[nodes.Expr]:
    """Yield what is shown for a node: a message's texts, and what is filled in between them."""
    if not isinstance(node, nodes.Call) or getattr(node.node, "name", "") not in {"_", "gettext"}:
        yield node
        return
    values = {one.key: one.value for one in node.kwargs}
    for place, part in enumerate(_PLACEHOLDER.split(_told(node))):
        if place % 2:
            yield values[part]
        elif part:
            yield nodes.Const(Markup(part) % {}, lineno=node.lineno)  # noqa: S704 - ours


def _told(node: nodes.Call) -> Markup:
    (message,) = node.args
    return Markup(i18n.gettext(message.as_const()))  # noqa: S704 - ours, not a visitor's


def _counted(n: int, one: str, many: str, /, **values: Any) -> Markup:
    return Markup(i18n.ngettext(one, many, n)) % values  # noqa: S704 - ours, not a visitor's


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


@cache
def environment(tag: str) -> jinja2.Environment:
    """Return the environment whose templates speak a language of ``LOCALES``."""
    environment = _Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    # tojson writes <, > and & as \u003c and so on: no text ends a script element early.
    environment.policies.update({"json.dumps_function": _json, "json.dumps_kwargs": {}})
    environment.install_gettext_callables(  # type: ignore[attr-defined] # the extension's
        i18n.gettext, i18n.ngettext, newstyle=True, pgettext=i18n.pgettext, npgettext=i18n.npgettext
    )
    environment.filters.update(_FILTERS)
    environment.globals.update(_GLOBALS, lang=tag, dir=i18n.LOCALES[tag].text_direction)
    return environment


_FILTERS = {
    **formats.FILTERS,
    "author_path": addresses.author_path,
    "comment_path": addresses.comment_path,
    "counted": _counted,
    "product_path": addresses.product_path,
}

_GLOBALS = {
    "picture_address": addresses.picture_address,
    "plan_caption": plan_words.caption,
    "plan_reason": plan_words.reason,
    "plural_forms": i18n.plural_forms,
    "product_name": formats.product_name,
    "rooted": addresses.rooted,
    "files": f"/static/pages/{static_files.DIGEST}",
}


def template(name: str) -> jinja2.Template:
    """Return a template by its file's name, compiled for the language in force."""
    return environment(i18n.spoken()).get_template(name)
