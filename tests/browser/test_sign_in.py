"""Sign-in at an issuer on another site, with a browser's rules for cookies."""

from pathlib import Path

import oidc_provider_mock
from playwright.async_api import Browser, expect

from tests.browser.conftest import NEEDS_CHROMIUM
from tests.server.serving import served

pytestmark = NEEDS_CHROMIUM

SECRETS = {"MARGINALIA_SIGN_IN_CLIENT_SECRET": "secret", "MARGINALIA_JWT_SECRET": ""}
"""An empty variable counts as missing, so the server creates a secret in the data directory."""


async def test_a_visitor_returns_from_the_issuer_signed_in(
    chromium: Browser, tmp_path: Path
) -> None:
    ana = oidc_provider_mock.User(sub="auth0|64f0c2a1", claims={"name": "Ana"})
    with oidc_provider_mock.run_server_in_thread(user_claims=[ana]) as issuer:
        url = f"http://localhost:{issuer.server_port}"
        options = ["--jwt-issuer", url, "--jwt-audience", "api", "--sign-in-client-id", "pages"]
        with served(tmp_path, *options, **SECRETS) as server:
            for scripts in (True, False):
                async with await chromium.new_context(java_script_enabled=scripts) as context:
                    page = await context.new_page()
                    await page.goto(f"{server.url}/sign-in?next=/products/1")
                    await page.get_by_role("link", name="Sign in with your account").click()
                    await page.get_by_role("button", name="auth0|64f0c2a1").click()
                    await page.wait_for_url(f"{server.url}/products/1")
                    await expect(page.get_by_text("Signed in as")).to_be_visible()
