"""One request of a page: who asks, what it may run, and how it is answered."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dal.limits import MAX_FORM_FIELDS, MAX_PAGE_ADDRESS
from server.auth.authenticator import DemoAccount, InvalidTokenError, KeysUnavailableError
from server.http.errors import failure
from server.http.graphql import GraphQLView
from server.http.request import read_body
from server.pages import formats, i18n, rendering, sessions
from server.pages.faults import KEYS_AWAY, PageFault, flaw_message
from server.pages.i18n import gettext, gettext_noop
from server.pages.page_documents import DocumentResult, run_document
from server.pages.sessions import Session

LANGUAGES = [(tag, formats.LANGUAGES[tag]) for tag in i18n.LOCALES]
"""The languages that pages are written in, by tag, with what they call themselves."""

NOTICES = {
    "added": gettext_noop(
        "Thank you, your comment is published. It may take a moment to appear in lists."
    ),
    "changed": gettext_noop("Your changes are saved. They may take a moment to appear in lists."),
    "deleted": gettext_noop(
        "The comment is deleted. It may take a moment to disappear from lists."
    ),
}
"""What the page after a form says, by the address's ``notice``."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a page's handler works with; ``http`` is Starlette's request."""

    http: Request
    view: GraphQLView
    session: Session
    demo: DemoAccount | None = None
    """The account that all visitors of a demo share."""

    @property
    def accepted(self) -> str:
        """The browser's languages, as its header Accept-Language has them."""
        return self.http.headers.get("accept-language", "")

    @property
    def root(self) -> str:
        """What paths start with: empty unless a proxy serves the site below a path."""
        root: str = self.http.scope.get("root_path", "")
        return root.rstrip("/")

    @property
    def site(self) -> str:
        """The absolute address of the site, without a slash at its end."""
        public: str | None = self.http.app.state.settings.public_url
        return str(self.http.base_url).rstrip("/") if public is None else public + self.root

    @property
    def here(self) -> str:
        """The path and query that were asked for, without the site's root and the language.

        It begins with one slash: browsers read two as another site.
        """
        path = "/" + quote(self.http.scope["path"].removeprefix(self.root)).lstrip("/")
        parts = self.http.url.query.split("&")
        query = "&".join(part for part in parts if not part.startswith("lang="))
        return f"{path}?{query}" if query else path

    async def run(self, name: str, **variables: Any) -> DocumentResult:
        """Run one of the pages' documents as whoever asks; PageFault tells its errors."""
        return await run_document(self.view.schema, self.session.context, name, variables)

    async def form(self) -> dict[str, str]:
        """Return the fields of a form post, lines ended by a line feed.

        PageFault when it is none, or when another site sends it.
        """
        if not sessions.from_here(self.http):
            raise PageFault(
                403,
                gettext("This form was sent from another site. Open the page here and try again."),
            )
        try:
            body = await read_body(self.http.receive)
            pairs = parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_FORM_FIELDS,
            )
        except HTTPException as error:
            message = gettext("Your text is too long. Please shorten it.")
            raise PageFault(error.status_code, message) from None
        except ValueError:  # also of UnicodeDecodeError
            message = gettext("This form could not be read. Reload the page and try again.")
            raise PageFault(400, message) from None
        return {name: value.replace("\r\n", "\n") for name, value in pairs}

    def to(self, path: str) -> Response:
        """Return a redirect to a path of this site, to be fetched by GET."""
        return RedirectResponse(self.root + path, HTTPStatus.SEE_OTHER)

    def render(self, template: str, status: int = 200, **facts: Any) -> Response:
        """Return a page, or 304 to a browser or crawler that has the same one."""
        facts = self._facts() | facts
        headers = self._headers(template, status, facts)
        tag = headers.get("ETag")
        if tag is not None and tag in self.http.headers.get("if-none-match", ""):
            return self._kept(Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers))
        return self._kept(HTMLResponse(rendering.render(template, facts), status, headers))

    def _facts(self) -> dict[str, Any]:
        """Return what every page shows: who looks at it, from where, and what is to be told."""
        notice = NOTICES.get(self.http.query_params.get("notice", ""))
        return {
            "root": self.root,
            "site": self.site,
            "here": self.here,
            "viewer": self.session.username,
            "demo_user": self.demo and self.demo.username,
            "form_key": self.session.form_key,
            "ended": self.session.ended and flaw_message(self.session.ended),
            "notice": gettext(notice) if notice else None,
            "picture_origins": tuple(self.http.app.state.settings.picture_origins),
            "loading": self.http.app.state.loading(),
            # What was typed would not come along from the answer to a form.
            "spoken_languages": LANGUAGES if self.http.method != "POST" else [],
        }

    def _headers(self, template: str, status: int, facts: dict[str, Any]) -> dict[str, str]:
        """Return the headers of a page.

        Who is signed in gets no validator and shares no cache: their forms differ each time.
        """
        headers = rendering.headers(facts["picture_origins"])
        if self.session.username is not None:
            return headers | {"Cache-Control": "private, no-cache"}
        tag = {"ETag": rendering.etag(template, facts)} if status == HTTPStatus.OK else {}
        return headers | {"Cache-Control": "no-cache"} | tag

    def _kept(self, response: Response) -> Response:
        """Have the browser keep the language that an address asked for, and no JWT that ended."""
        asked = i18n.offered(self.http.query_params.get("lang", ""))
        if asked is not None and sessions.cookies(self.http).get(sessions.LANGUAGE_COOKIE) != asked:
            sessions.keep_language(response, self.http, asked)
        if self.session.ended is not None:
            sessions.forget(response, self.http)
        return response


Handler = Callable[[PageRequest], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(view: GraphQLView, handler: Handler, demo: DemoAccount | None = None) -> Endpoint:
    """Return what answers a route by ``handler``; its faults become pages too."""

    async def answer(http: Request) -> Response:
        address = len(http.scope["raw_path"]) + len(http.scope["query_string"])
        if address >= MAX_PAGE_ADDRESS:  # the question mark is one byte more
            return failure(414, f"The address is longer than {MAX_PAGE_ADDRESS:,} bytes.")
        with i18n.speaking(sessions.language(http)):
            request = anonymous = PageRequest(http, view, Session(await view.context(None)), demo)
            try:
                request = PageRequest(http, view, await sessions.open_session(view, http), demo)
                return await handler(request)
            except InvalidTokenError as error:
                return fault_page(anonymous, PageFault(401, flaw_message(error.flaw)))
            except KeysUnavailableError:
                return fault_page(anonymous, PageFault(503, gettext(KEYS_AWAY)))
            except PageFault as fault:
                return fault_page(request, fault)

    return answer


def fault_page(request: PageRequest, fault: PageFault) -> Response:
    """Return the page of a fault."""
    response = request.render("fault.html", fault.status, code=fault.status, message=str(fault))
    if fault.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response
