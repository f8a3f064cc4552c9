"""JWTs in the form that identity providers document, and forged JWTs."""

import time
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from resolvers.context import Viewer
from server.auth.authenticator import Authenticator, make_token
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.errors import CommandError
from server.services import authenticator_of
from server.settings import Settings
from tests.viewers import viewer_of

SECRET = "a secret of thirty-two bytes, or more"
KEY = rsa.generate_private_key(65537, 2048)
OTHER_KEY = rsa.generate_private_key(65537, 2048)
KEYS = {"keys": [{**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "current"}]}

AUTH0 = {
    "iss": "https://shop.eu.auth0.com/",
    "sub": "auth0|64f0c2a1b2c3d4e5f6a7b8c9",
    "aud": ["https://comments.shop.example", "https://shop.eu.auth0.com/userinfo"],
    "azp": "wQ3k9ZtVxT2l5m8n",
    "scope": "openid profile",
    "https://shop.example/name": "Ana Pérez",
    "https://shop.example/roles": ["shop-staff"],
}
COGNITO = {
    "iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab12Cd34E",
    "sub": "7f2e4d1c-93aa-4c15-8e0b-2b1f5c6d7e8f",
    "client_id": "5h2k7m9q1s3u5w7y9a1c3e5g7i",
    "token_use": "access",
    "scope": "openid profile",
    "username": "ana",
    "cognito:groups": ["moderator"],
}
KEYCLOAK = {
    "iss": "https://login.shop.example/realms/shop",
    "sub": "b3c1f0aa-0f7e-4a57-9c1b-d15a5f6f3c11",
    "aud": ["marginalia", "account"],
    "azp": "storefront",
    "typ": "Bearer",
    "realm_access": {"roles": ["offline_access", "uma_authorization"]},
    "resource_access": {"marginalia": {"roles": ["moderator"]}, "account": {"roles": ["staff"]}},
    "scope": "openid profile",
    "name": "Ana Pérez",
    "preferred_username": "ana",
}
SUPABASE = {
    "iss": "https://abcdefghijklmnop.supabase.co/auth/v1",
    "sub": "0a4f2b7e-5b0c-4a9d-8a6e-5d1d2f3e4a5b",
    "aud": "authenticated",
    "role": "authenticated",
    "app_metadata": {"provider": "email", "shop_role": "moderator"},
    "user_metadata": {"full_name": "Ana Pérez", "shop_role": "staff"},
}
ENTRA = {
    "iss": "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    "aud": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
    "ver": "2.0",
    "name": "Ana Pérez",
    "roles": ["Shop.Moderator"],
}

SETTINGS = {
    "auth0": {
        "jwt_audience": "https://comments.shop.example",
        "jwt_name_claims": ("https://shop.example/name",),
        "jwt_roles_claim": "https://shop.example/roles",
        "jwt_roles": ("shop-staff=staff",),
    },
    "cognito": {
        "jwt_audience": "5h2k7m9q1s3u5w7y9a1c3e5g7i",
        "jwt_name_claims": ("username", "cognito:username"),
        "jwt_roles_claim": "cognito:groups",
    },
    "keycloak": {
        "jwt_audience": "marginalia",
        "jwt_roles_claim": "resource_access.marginalia.roles",
    },
    "supabase": {
        "jwt_audience": "authenticated",
        "jwt_name_claims": ("user_metadata.full_name",),
        "jwt_roles_claim": "app_metadata.shop_role",
    },
    "entra": {
        "jwt_audience": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
        "jwt_roles": ("Shop.Moderator=moderator",),
    },
}
TOKENS: dict[str, dict[str, Any]] = {
    "auth0": AUTH0,
    "cognito": COGNITO,
    "keycloak": KEYCLOAK,
    "supabase": SUPABASE,
    "entra": ENTRA,
}


def provider(name: str) -> Authenticator:
    """Return the authenticator for a documented provider, with the provider's key set."""
    settings = Settings(jwt_issuer=str(TOKENS[name]["iss"]), **SETTINGS[name])  # type: ignore[arg-type]
    made = authenticator_of(settings, lambda: SECRET)
    assert made.issuer is not None
    made.issuer._keys = jwt.PyJWKSet.from_dict(KEYS).keys
    made.issuer._fetched = time.monotonic()
    return made


def signed(
    claims: dict[str, Any],
    *,
    key: Any = KEY,
    algorithm: str = "RS256",
    kid: str = "current",
    **changes: Any,
) -> str:
    made = {**claims, "exp": int(time.time()) + 300, **changes}
    made = {name: value for name, value in made.items() if value is not None}
    return "Bearer " + jwt.encode(made, key, algorithm=algorithm, headers={"kid": kid})


@pytest.mark.parametrize(
    ("name", "shown", "roles"),
    [
        ("auth0", "Ana Pérez", {"staff"}),
        ("cognito", "ana", {"moderator"}),
        ("keycloak", "Ana Pérez", {"moderator"}),
        ("supabase", "Ana Pérez", {"moderator"}),
        ("entra", "Ana Pérez", {"moderator"}),
    ],
)
async def test_documented_tokens_have_id_name_and_roles(
    name: str, shown: str, roles: set[str]
) -> None:
    viewer = await viewer_of(provider(name), signed(TOKENS[name]))
    assert viewer == Viewer(TOKENS[name]["sub"], frozenset(roles), shown)


FORGERIES: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example/"},
    "an issuer without its last character": {"iss": "cut"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "another-api", "client_id": None},
    "no audience": {"aud": None, "client_id": None},
    "an expired JWT": {"exp": 1_600_000_000},
    "no user": {"sub": None},
    "another key": {"key": OTHER_KEY},
    "an unknown key id": {"kid": "rotated"},
    "another algorithm": {"algorithm": "PS256"},
}


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("forgery", FORGERIES)
async def test_forged_tokens_of_providers_are_refused(name: str, forgery: str) -> None:
    changes = dict(FORGERIES[forgery])
    if changes.get("iss") == "cut":
        changes["iss"] = TOKENS[name]["iss"][:-1]
    with pytest.raises(InvalidTokenError):
        await viewer_of(provider(name), signed(TOKENS[name], **changes))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("auth0", {"https://shop.example/roles": None, "https://other.example/roles": ["staff"]}),
        ("auth0", {"https://shop.example/roles": ["staff"]}),
        ("cognito", {"cognito:groups": None, "roles": ["moderator"]}),
        ("keycloak", {"resource_access": {"other": {"roles": ["moderator"]}}}),
        ("keycloak", {"resource_access": "moderator"}),
        ("supabase", {"app_metadata": {}, "user_metadata": {"full_name": "A", "roles": "staff"}}),
        ("entra", {"roles": ["moderator", "Shop.moderator", "Other.Moderator"]}),
    ],
)
async def test_roles_of_another_claim_or_tenant_give_no_rights(
    name: str, changes: dict[str, Any]
) -> None:
    viewer = await viewer_of(provider(name), signed(TOKENS[name], **changes))
    assert viewer.roles == frozenset()


@pytest.mark.parametrize("name", TOKENS)
async def test_a_jwt_signed_with_the_secret_has_marginalias_claims(name: str) -> None:
    made = make_token(SECRET, user="mo", name="Mo", roles=["staff"], lifetime=timedelta(hours=1))
    viewer = await viewer_of(provider(name), f"Bearer {made}")
    assert viewer == Viewer("mo", frozenset({"staff"}), "Mo")


async def test_a_key_of_the_set_cannot_sign_for_marginalias_issuer() -> None:
    with pytest.raises(InvalidTokenError) as caught:
        await viewer_of(provider("keycloak"), signed(KEYCLOAK, iss="marginalia"))
    assert caught.value.flaw is TokenFlaw.ISSUER


async def test_a_configured_claim_is_required() -> None:
    with pytest.raises(InvalidTokenError, match=r"'user_metadata\.full_name'") as caught:
        await viewer_of(provider("supabase"), signed(SUPABASE, user_metadata={}))
    assert caught.value.flaw is TokenFlaw.CLAIMS


def test_sign_in_with_a_shared_table_requires_a_shared_secret() -> None:
    given = {"sign_in_client_id": "pages", "sign_in_client_secret": "secret", "jwt_audience": "api"}
    with pytest.raises(CommandError, match=r"--sign-in-client-id .*MARGINALIA_JWT_SECRET"):
        Settings(jwt_issuer="https://login.shop.example", aws=True, **given)  # type: ignore[arg-type]


def test_sign_in_requires_an_issuer() -> None:
    with pytest.raises(CommandError, match=r"--sign-in-client-secret .*--jwt-issuer"):
        Settings(sign_in_client_id="pages", sign_in_client_secret="secret")


@pytest.mark.parametrize("role", ["admins", "admins=moderater", "=staff"])
def test_a_role_is_mapped_to_one_of_marginalias_roles(role: str) -> None:
    with pytest.raises(CommandError, match=f"--jwt-role {role} .*=staff.*=moderator.*=merchant"):
        Settings(jwt_roles=(role,))


async def test_a_role_may_be_mapped_to_two_of_marginalias_roles() -> None:
    settings = Settings(jwt_roles=("admins=staff", "admins=moderator"))
    made = authenticator_of(settings, lambda: SECRET)
    viewer = await viewer_of(
        made, signed({"sub": "ana", "roles": ["admins"]}, key=SECRET, algorithm="HS256")
    )
    assert viewer.roles == {"staff", "moderator"}


def test_an_issuer_requires_an_audience() -> None:
    with pytest.raises(CommandError, match=r"--jwt-issuer .*--jwt-audience"):
        Settings(jwt_issuer="https://login.shop.example")
