"""Private names of Jinja and MarkupSafe, under public names.

No other module uses a private name of these packages. pyproject.toml limits their versions, and
``tests/test_private_names.py`` fails if a name changes.
"""

from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape
from markupsafe import _escape_inner as escaped_text  # type: ignore[attr-defined] # a C function


class _CodeGenerator(CodeGenerator):
    """Jinja's code generator. For usual values, it writes expressions in place of function calls.

    A page has about 800 outputs and as many attributes. A call for each would take a third of the
    time to render the page.
    """

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("escaped_text = environment.escaped_text")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        del node, frame, finalize  # escaping is always on, and ``finalize`` is not set
        self.write("(escaped_text(output) if type(output := ")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        del node, frame, finalize
        self.write(") is str else environment.escaped(output))")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        name = repr(node.attr)
        self.write(f"(it[{name}] if type(it := ")
        self.visit(node.node, frame)
        self.write(f") is dict and {name} in it else environment.getattr(it, {name}))")


class _Context(Context):
    """Jinja's context. It calls macros without looking for Jinja's decorators of functions."""

    def call(self, called: Any, *args: Any, **values: Any) -> Any:
        if type(called) is not Macro:
            return super().call(called, *args, **values)
        values.pop("_block_vars", None)
        values.pop("_loop_vars", None)
        return called(*args, **values)


class Environment(jinja2.Environment):
    """Jinja's environment. It prepares syntax trees, and its templates are always escaped.

    ``a.b`` is looked up among the keys of a dict before its attributes. Jinja tries attributes
    first, which raises and catches an exception for each value of a dict.
    """

    code_generator_class = _CodeGenerator
    context_class = _Context
    escaped_text = staticmethod(escaped_text)

    @staticmethod
    def escaped(value: Any) -> str:
        """Return an output as HTML, which Jinja joins with the template's own text.

        ``escape`` would be slower: it creates a Markup object for each output.
        """
        if type(value) is int:
            return str(value)
        return value if type(value) is Markup else escape(value)

    def prepared(self, source: nodes.Template) -> nodes.Template:
        """Return a template's syntax tree before Jinja compiles it."""
        return source

    def _generate(self, source: nodes.Template, *args: Any, **options: Any) -> str:
        return super()._generate(self.prepared(source), *args, **options)
