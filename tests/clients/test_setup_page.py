"""The blocks of docs/client-setup.md are made from the schema."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from graphql import GraphQLSchema, build_schema

from tests.clients import setup_page
from tests.engines import ROOT


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return setup_page.schema()


def test_the_blocks_are_up_to_date(schema: GraphQLSchema) -> None:
    text = setup_page.PAGE.read_text("utf-8")
    assert setup_page.page(text, schema) == text, "Run 'make docs' and commit the page."


@pytest.mark.parametrize("name", setup_page.MADE)
def test_an_outdated_constant_is_found(schema: GraphQLSchema, name: str) -> None:
    text = setup_page.PAGE.read_text("utf-8")
    constant = rf'((?:const |"){name}(?:"?:| =) ){{\n.*?^( *)}}'
    emptied = re.sub(constant, r"\1{\n\2}", text, flags=re.MULTILINE | re.DOTALL)
    assert emptied != text
    assert setup_page.page(emptied, schema) == text


def test_code_generators_know_the_type_of_each_scalar(tmp_path: Path) -> None:
    setup_page.write_blocks(tmp_path)
    script = "import c from './codegen.js'; console.log(JSON.stringify(c))"
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (generated,) = json.loads(done.stdout)["generates"].values()
    known = dict.fromkeys(["CurrencyCode", "DateTime", "Decimal"], "string")
    assert generated["config"]["scalars"] == known
    assert json.loads(setup_page.blocks()["relay.config.json"])["customScalarTypes"] == known


CODEGEN = ROOT / "examples/node_modules/.bin/graphql-codegen"
"""The code generator of the examples."""

USES = """import { graphql } from "./gql";
export const USES = graphql(`
  query Uses($since: DateTime) {
    product(productId: "1") { lastCommentedAt comments(createdFrom: $since) { totalCount } }
    order(orderId: "1") { total { amount currencyCode } }
  }
`);
"""

TYPES = """
export type UsesQueryVariables = Exact<{
  since?: string | null | undefined;
}>;


export type UsesQuery = { product: { lastCommentedAt: string | null, \
comments: { totalCount: number | null } | null } | null, \
order: { total: { amount: string, currencyCode: string } } | null };
"""


def test_the_block_of_code_generators_makes_texts_of_scalars(tmp_path: Path) -> None:
    assert CODEGEN.exists(), "run `make setup-dev` first"
    (tmp_path / "codegen.js").write_text(setup_page.blocks()["codegen.js"])
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(CODEGEN.parents[1])
    (tmp_path / "schema.graphql").symlink_to(ROOT / "schema.graphql")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/uses.ts").write_text(USES)
    done = subprocess.run(
        ["node", CODEGEN, "--config", "codegen.js"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert TYPES in (tmp_path / "src/gql/graphql.ts").read_text("utf-8")


def test_constants_of_a_changed_schema() -> None:
    schema = build_schema("""
    scalar Time
    interface Node { id: ID! }
    type Shop implements Node {
      id: ID!
      address: Address
      opened: Time
      items(first: Int, after: String, colour: [String!]): ItemConnection
    }
    type Address { lines: [Line!]! }
    type Line { text: String! }
    type Item implements Node { id: ID! price: Price }
    type Price { amount: Int! }
    type ItemConnection { edges: [ItemEdge!]! pageInfo: PageInfo! }
    type ItemEdge { node: Item! cursor: String! }
    type PageInfo { endCursor: String }
    type Query { shop: Shop node(id: ID!): Node }
    type Payload { shop: Shop userErrors: [Error!]! }
    type Error { message: String! }
    type Mutation { open: Payload }
    """)
    assert setup_page.keys(schema) == dict.fromkeys(["Address", "Line", "Price"], "embedded")
    assert setup_page.type_policies(schema) == {
        "Address": {"...keep": None, "fields": {"lines": "replace"}},
        "Price": "keep",
        "Shop": {"fields": {"items": ("relayStylePagination", ['"colour"'])}},
    }
    assert setup_page.resolvers(schema) == {"Shop": {"items": "pages"}}
    assert setup_page.scalars(schema) == {"Time": '"string"'}
