"""Private names of Jinja and MarkupSafe, under public names.

No other module uses a private name of these packages. pyproject.toml limits their versions, and
``tests/test_private_names.py`` fails if a name changes.
"""

from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from markupsafe import Markup, escape
from markupsafe import _escape_inner as escaped_text  # type: ignore[attr-defined] # a C function


class _CodeGenerator(CodeGenerator):
    """Jinja's code generator. It escapes outputs by ``Environment.escaped``."""

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        del node, frame, finalize  # escaping is always on, and ``finalize`` is not set
        self.write("environment.escaped(")


class Environment(jinja2.Environment):
    """Jinja's environment. It escapes outputs by a function, and translates syntax trees."""

    code_generator_class = _CodeGenerator

    @staticmethod
    def escaped(value: Any) -> str:
        """Return an output as HTML, which Jinja joins with the template's own text.

        ``escape`` would be slower: it creates a Markup object for each output, and a page has
        hundreds.
        """
        if type(value) is str:
            return escaped_text(value)
        return value if type(value) is Markup else escape(value)

    def translated(self, source: nodes.Template) -> nodes.Template:
        """Return a template's syntax tree before Jinja compiles it."""
        return source

    def _generate(self, source: nodes.Template, *args: Any, **options: Any) -> str:
        return super()._generate(self.translated(source), *args, **options)
