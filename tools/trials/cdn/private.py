"""Requests for private data through a proxy, and a search for these data in the proxy's store."""

from dataclasses import dataclass

import httpx
import orjson
from strawberry.relay.utils import to_base64

from server.auth.authenticator import DEMO_USER
from tests.server.serving import bearer, jwt_of
from tools.trials.cdn.nginx import Proxy

JWT = jwt_of(DEMO_USER)
_OWNER = {"Authorization": f"Bearer {JWT}"}
SUBJECT = "A ticket that nobody else may read"

DOCUMENTS = {
    "page": """query Page($id: ID!) { product(productId: $id) {
      statistics { total average histogram { rating count } }
      comments(first: 20) { nodes { commentId rating language title text createdAt }
        pageInfo { hasNextPage endCursor } } } }""",
    "user": "query ($name: String!) { user(username: $name) { id profile { fullName email } } }",
    "orders": """query ($name: String!) { user(username: $name) {
      orders(first: 50) { nodes { id orderId status createdAt } } } }""",
    "open": "{ openOrders(first: 50) { nodes { orderId } } }",
    "ticket": "query ($name: ID!) { ticket(ticketId: $name) { id subject text } }",
    "node": "query ($id: ID!) { node(id: $id) { id ... on Order { status } } }",
    "both": """query ($name: String!) { product(productId: "1") { productId }
      user(username: $name) { orders { nodes { orderId } } } }""",
    "plan": '{ product(productId: "1") { comments { plan { segments { partitionKey } } } } }',
}
"""Documents of front ends. Only the first has a public result."""

_TICKET = """mutation ($organization: String!, $subject: String!) {
  createTicket(input: {organizationName: $organization, subject: $subject, text: "Private."}) {
    ticket { ticketId } userErrors { message } } }"""
_ORGANIZATION = """mutation ($name: String!) {
  createOrganization(input: {name: $name, subscriptionPlan: "Pro"}) { userErrors { message } } }"""
_PROFILE = """mutation {
  updateProfile(input: {fullName: "Demo Secret", email: "demo@secret.example"}) {
    userErrors { message } } }"""


@dataclass(frozen=True, slots=True)
class Found:
    """The number of requests, and private data found in wrong places."""

    asked: int
    stored: int
    """The number of files in the proxy's store."""
    in_store: list[str]
    to_strangers: list[str]
    hits: int
    """The number of stored responses that signed-in users got."""


def prepare(url: str) -> list[str]:
    """Store private data of the demo's user, without the proxy. Return texts that are secret."""
    with httpx.Client(base_url=url, headers=_OWNER) as client:

        def run(query: str, **variables: str) -> dict[str, object]:
            body = {"query": query, "variables": variables}
            answer: dict[str, object] = client.post("/graphql", json=body).json()["data"]
            return answer

        run(_PROFILE)
        run(_ORGANIZATION, name="secret-organization")
        made = run(_TICKET, organization="secret-organization", subject=SUBJECT)
        told = run(DOCUMENTS["orders"], name=DEMO_USER)
    orders = [node["orderId"] for node in told["user"]["orders"]["nodes"]]  # type: ignore[index]
    ticket = made["createTicket"]["ticket"]["ticketId"]  # type: ignore[index]
    return [ticket, SUBJECT, "Demo Secret", "demo@secret.example", JWT, *orders]


def search(proxy: Proxy, secrets: list[str]) -> Found:
    """Request everything as the demo's user, as staff and as a stranger, then search the store."""
    ticket, *_, order = secrets
    values = {name: {"name": DEMO_USER} for name in ("user", "orders", "both")}
    values |= {"page": {"id": "1"}, "ticket": {"name": ticket}}
    values |= {"node": {"id": to_base64("Order", order)}}
    asked = [
        {"documentId": name, "variables": orjson.dumps(values.get(name, {})).decode()}
        for name in DOCUMENTS
    ]
    signed_in = [_OWNER, bearer("sam", "staff"), {"Cookie": f"marginalia_jwt={JWT}"}]
    hits = 0
    with proxy.client() as client:
        for headers in [*signed_in, *signed_in]:
            for parameters in asked:
                answer = client.get("/graphql", params=parameters, headers=headers)
                hits += answer.headers["x-cache"] in {"HIT", "STALE"}
            for path in ("/", "/products/1", "/sign-in"):
                client.get(path, headers=headers)
        seen = [client.get("/graphql", params=parameters).content for parameters in asked]
    kept = proxy.kept()
    return Found(
        asked=len(signed_in) * 2 * (len(asked) + 3) + len(asked),
        stored=len(kept),
        in_store=[one for one in secrets if any(one.encode() in file for file in kept)],
        to_strangers=[one for one in secrets if any(one.encode() in body for body in seen)],
        hits=hits,
    )
