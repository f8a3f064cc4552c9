"""Parsing of pages."""

from tests.docs.markdown import Fence, anchors, fences, slug_of

PAGE = """# A page

```sh
first
```

<!-- not run: it needs
an account -->
```sh
second
```

1. In a list

   <!-- stopped: it listens -->
   ```sh
   third
     indented

   ```

```json
{}
```

## A page

## `make docs`, [links](b.md) & more!
"""


def test_a_block_has_only_the_comment_directly_before_it() -> None:
    assert list(fences(PAGE)) == [
        Fence("sh", "first\n", 3),
        Fence("sh", "second\n", 9, "not run", "it needs an account"),
        Fence("sh", "third\n  indented\n\n", 16, "stopped", "it listens"),
        Fence("json", "{}\n", 22),
    ]


def test_anchors_equal_those_of_github() -> None:
    assert anchors(PAGE) == {"a-page", "a-page-1", "make-docs-links--more"}
    assert slug_of("Other services with DynamoDB's API") == "other-services-with-dynamodbs-api"
