"""Rules beside the writes of comments. The pipeline of writes calls the rules by their hooks."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from dal.counts.counts import CounterRule
from dal.writes.changes import CommentChange


class WriteRule(CounterRule):
    """One concern beside the writes of comments, such as the events of a product's comments.

    The pipeline calls the rules in their order, and knows none of them by name. Each method does
    nothing by default.
    """

    follows_new: ClassVar[bool] = True
    """Whether the pipeline calls the hook ``committed`` for new comments, too."""

    def committed(self, change: CommentChange) -> None:
        """Receive an acknowledged change, before the client gets its response.

        The changes of one comment arrive in the order of writing.
        """

    def uncertain(self, changes: Sequence[CommentChange]) -> None:
        """Receive the changes of a write with an unknown outcome."""


class WriteRules:
    """For each hook, the rules that override it, in their order.

    So a write calls no hook that does nothing.
    """

    def __init__(self, rules: Sequence[CounterRule] = ()) -> None:
        def overriding(hook: Callable[..., object]) -> list[Any]:
            return [one for one in rules if getattr(type(one), hook.__name__, hook) is not hook]

        self.counted: Sequence[CounterRule] = overriding(CounterRule.counted)
        self.ended: Sequence[CounterRule] = overriding(CounterRule.ended)
        self.committed: Sequence[WriteRule] = overriding(WriteRule.committed)
        self.uncertain: Sequence[WriteRule] = overriding(WriteRule.uncertain)
