"""The processor time that a client's document takes before it is executed, and who pays for it."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

_charge: ContextVar[Callable[[float], object] | None] = ContextVar("charge", default=None)


@contextmanager
def charging(charge: Callable[[float], object]) -> Iterator[None]:
    """Have ``charge`` called with the seconds that documents take within the block."""
    token = _charge.set(charge)
    try:
        yield
    finally:
        _charge.reset(token)


@contextmanager
def charged() -> Iterator[None]:
    """Charge the processor time of the block, which must not await, to the client of the request.

    Python collects no garbage meanwhile. A syntax tree and its validation are 20,000 objects, so
    several collections would look through a tree that is still in use: a third of all time. And a
    collection of all generations takes up to 0.3 s, which is not the work of this client.
    """
    collects, began = gc.isenabled(), thread_time()
    gc.disable()
    try:
        yield
    finally:
        try:
            charge = _charge.get()
            if charge is not None:
                charge(thread_time() - began)
        finally:
            if collects:
                gc.enable()
