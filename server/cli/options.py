"""Adds the settings of ``server.settings`` to commands, as command-line options."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import Field, fields
from functools import wraps
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

from dal.kinds.item_kind import ItemKind
from server.option import Option, option_name
from server.settings import Settings

STORE = ("data_dir", "endpoint_url", "aws", "table")
"""The names of the settings that select the table and its store."""

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The user's id: 'username' in the API, 'sub' of the JWT.",
        show_default=False,
    ),
]
"""The name of the user with whom a command works."""

Command: TypeAlias = Callable[..., Coroutine[Any, Any, None] | None]


def takes(*names: str) -> Callable[[Command], Callable[..., None]]:
    """Return a decorator that adds an option to a command for each setting in ``names``.

    The command receives the settings in one argument, ``settings``. If it also has an argument
    ``kinds``, it receives all kinds of items, ``dal.composition.KINDS``. An option of such a
    command may depend on the kinds: its annotation then has a function that receives the kinds, and
    returns the annotation. If the command is a coroutine function, the decorated command runs its
    coroutine to the end.
    """
    types = get_type_hints(Settings)
    by_name = {setting.name: setting for setting in fields(Settings)}
    offered = [_parameter(by_name[name], types[name]) for name in names]

    def with_settings(command: Command) -> Callable[..., None]:
        own = dict(inspect.signature(command).parameters)
        del own["settings"]
        composed: dict[str, Any] = {}
        if own.pop("kinds", None) is not None:
            from dal.composition import KINDS  # noqa: PLC0415 - most commands do not need it

            composed["kinds"] = KINDS
            own = {name: _with_kinds(one, KINDS) for name, one in own.items()}

        @wraps(command)
        def with_options(**given: Any) -> None:
            values = {name: given.pop(name) for name in names}
            # If a repeatable option is not given, its value is None. Leave such values out, so that
            # the settings keep their defaults.
            known = {name: value for name, value in values.items() if value is not None}
            done = command(settings=Settings(**known), **composed, **given)
            if done is not None:
                asyncio.run(done)

        signature = inspect.Signature([*own.values(), *offered])
        with_options.__signature__ = signature  # type: ignore[attr-defined]
        with_options.__annotations__ = {
            one.name: one.annotation for one in signature.parameters.values()
        }
        return with_options

    return with_settings


def _with_kinds(parameter: inspect.Parameter, kinds: Sequence[ItemKind]) -> inspect.Parameter:
    """Return a parameter. If its annotation has a function, the function makes the annotation."""
    for one in getattr(parameter.annotation, "__metadata__", ()):
        if callable(one):
            return parameter.replace(annotation=one(kinds))
    return parameter


def _parameter(setting: Field[Any], kind: Any) -> inspect.Parameter:
    """Return a function parameter for a setting. Typer turns the parameter into an option."""
    option: Option = setting.metadata["option"]
    default: Any = setting.default
    name = option_name(setting)
    if get_origin(kind) is Sequence:
        kind, default = list[get_args(kind)[0]] | None, list(default) or None  # type: ignore[misc]
    elif bool in {kind, *get_args(kind)} and option.off != "":
        name += f"/--{option.off or name.replace('--', 'no-')}"
    declared = typer.Option(
        name,
        help=option.help,
        rich_help_panel=option.panel,
        min=option.bounds[0],
        max=option.bounds[1],
        show_default=default is not None,
    )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declared],
    )
