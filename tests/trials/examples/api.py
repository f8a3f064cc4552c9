"""The API as the trial asks it itself, to compare."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.server.serving import bearer

_PAGE = """
query ($rating: [Int!], $language: [String!], $orderBy: DateOrder, $after: String) {
  product(productId: "1") {
    comments(rating: $rating, language: $language, orderBy: $orderBy, first: 100, after: $after) {
      nodes { id } pageInfo { hasNextPage endCursor }
    }
  }
}"""


@dataclass(frozen=True, slots=True)
class Api:
    """The server at ``url``."""

    url: str

    def listed(self, **arguments: Any) -> list[str]:
        """Return the ids of a list of product 1, page by page."""
        found: list[str] = []
        after = None
        with httpx.Client(timeout=60) as client:
            while True:
                body = {"query": _PAGE, "variables": arguments | {"after": after}}
                answer = client.post(f"{self.url}/graphql", json=body).json()
                comments = answer["data"]["product"]["comments"]
                found += [node["id"] for node in comments["nodes"]]
                after = comments["pageInfo"]["endCursor"]
                if not comments["pageInfo"]["hasNextPage"]:
                    return found

    @staticmethod
    def jwt(username: str) -> str:
        """Return a JWT as ``marginalia token`` makes it."""
        return bearer(username)["Authorization"].removeprefix("Bearer ")
