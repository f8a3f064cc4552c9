"""A request for a page: its session, its form, the documents that it runs, and its response."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pages import formats, i18n, rendering, sessions
from pages.addresses import CURSORS, MAX_PAGE_ADDRESS, local, without
from pages.faults import FLAWS, KEYS_AWAY, SESSION_ENDED, TOO_LARGE, PageFault
from pages.i18n import gettext, gettext_noop
from pages.page_documents import DocumentResult, run_document
from pages.sessions import Session
from pages.sign_in import DemoAccount
from resolvers.shop_aspects import labels
from schema.execution.executable_schema import MAX_RESPONSE
from server.auth.claims import InvalidTokenError
from server.auth.issuer import KeysUnavailableError
from server.http.errors import failure
from server.http.graphql import GraphQLView
from server.http.request import MAX_BODY, prefers_html, read_body

MAX_FORM_FIELDS = 50
"""Maximum fields of an HTML form."""

LANGUAGES = [(tag, formats.LANGUAGES[tag]) for tag in i18n.LOCALES]
"""The tags of the pages' languages, with each language's own name."""

_YEAR = 365 * 86_400

_BY_LINK = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}
"""The headers of a page whose address contains a JWT."""

NOTICES = {
    "added": gettext_noop(
        "Thank you, your comment is published. It may take a moment to appear in lists."
    ),
    "held": gettext_noop("Thank you. Your comment will appear here when the shop has approved it."),
    "changed": gettext_noop("Your changes are saved. They may take a moment to appear in lists."),
    "sent": gettext_noop("Thank you. The shop will check your comment before it is published."),
    "resent": gettext_noop(
        "Your changes are saved. The shop will check your comment before it is published."
    ),
    "replied": gettext_noop("The reply is published. It may take a moment to appear in lists."),
    "unreplied": gettext_noop(
        "The reply is removed. It may take a moment to disappear from lists."
    ),
    "reported": gettext_noop("Thank you for your report. The shop will check this comment."),
    "approved": gettext_noop("The approval is saved. It may take a moment to appear in lists."),
    "rejected": gettext_noop("The rejection is saved. It may take a moment to appear in lists."),
    "blocked": gettext_noop("The user is blocked. It may take a moment to appear in lists."),
    "unblocked": gettext_noop(
        "The user is not blocked any more. It may take a moment to disappear from lists."
    ),
    "voted": gettext_noop("Your vote is saved. It may take a moment to appear in lists."),
    "not-voted": gettext_noop("Your vote could not be saved. Please try again."),
    "vote-refused": gettext_noop("This vote is not possible. The comment may have been deleted."),
    "deleted": gettext_noop(
        "The comment is deleted. It may take a moment to disappear from lists."
    ),
}
"""The message that the next page shows after a form was sent, by the value of the query parameter
``notice``."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page, the argument of each handler. ``http`` is Starlette's request."""

    http: Request
    view: GraphQLView
    session: Session
    demo: DemoAccount | None = None
    """The account that all visitors of a demo share; None if the server is not a demo."""
    by_link: bool = False
    """Whether a JWT in the address or in the form gives the right to comment.

    The page then ignores and sets no cookies, and its headers keep the JWT from others.
    """

    @property
    def root(self) -> str:
        """The path below which a proxy serves the site, the prefix of all links; usually empty."""
        root: str = self.http.scope.get("root_path", "")
        return root.rstrip("/")

    @property
    def site(self) -> str:
        """The absolute address of the site, without a slash at its end."""
        return self.session.context.site or sessions.site_of(self.http)

    @property
    def here(self) -> str:
        """The request's path and query, without the site's root and the parameter ``lang``.

        The path begins with one slash, because ``//host`` is an address of another site.
        """
        return self._without("lang")

    @property
    def first_page(self) -> str:
        """The address of the first page of the list in ``here``, with the same filters."""
        return self._without("lang", "notice", *CURSORS)

    @property
    def list_of_script(self) -> str | None:
        """The first page of the list in which a script has sent a form; None without a script."""
        address = local(self.http.query_params.get("list", ""))
        if address == "/":
            return None
        return without(address.removeprefix(self.root), "notice", "fresh", *CURSORS)

    def _without(self, *names: str) -> str:
        path = "/" + quote(self.http.scope["path"].removeprefix(self.root)).lstrip("/")
        query = self.http.scope["query_string"].decode("latin-1")
        return without(f"{path}?{query}", *names)

    async def run(self, name: str, **variables: Any) -> DocumentResult:
        """Return the result of one of the pages' documents, run for this session's user.

        If the result has errors, raise PageFault for the first error.
        """
        return await run_document(self.view.schema, self.session.context, name, variables)

    async def form(self) -> dict[str, str]:
        """Return the fields of a posted form. Line breaks in values are line feeds.

        Raise PageFault if the body is too large, is not a form or has too many fields, or if a page
        of another site sent the form.
        """
        # Browsers send the form of a page without the header Referer also without its origin. The
        # JWT in such a form is enough, because another site does not know the JWT.
        if not self.by_link and not sessions.from_here(self.http):
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
            message = gettext(
                "This form is too large; the maximum is %(most)s bytes. Go back and shorten your "
                "text.",
                most=formats.number(MAX_BODY),
            )
            raise PageFault(error.status_code, message) from None
        except ValueError:  # includes UnicodeDecodeError
            message = gettext("This form could not be read. Reload the page and try again.")
            raise PageFault(400, message) from None
        return {name: value.replace("\r\n", "\n") for name, value in pairs}

    async def opened_by_link(self, jwt: str) -> "PageRequest":
        """Return the request with the session of a link: see ``open_link``."""
        return replace(self, session=await sessions.open_link(self.view, self.http, jwt))

    def to(self, path: str) -> Response:
        """Return a redirect to a path of this site, which the browser then requests by GET."""
        headers = _BY_LINK if self.by_link else None
        return RedirectResponse(self.root + path, HTTPStatus.SEE_OTHER, headers)

    def to_sign_in(self) -> Response:
        """Redirect to the sign-in page, which leads back to the page in ``here``."""
        return self.to(f"/sign-in?next={quote(self.here, safe='')}")

    def render(self, template: str, status: int = 200, **facts: Any) -> Response:
        """Return the page that a template makes, or 304 if the client has the same page.

        Raise PageFault if the page would be larger than MAX_RESPONSE.
        """
        facts = self._facts() | facts
        headers = self._headers(template, status, facts)
        tag = headers.get("ETag")
        if tag is not None and tag in self.http.headers.get("if-none-match", ""):
            return self._kept(Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers))
        response = HTMLResponse(rendering.render(template, facts), status, headers)
        if len(response.body) > MAX_RESPONSE:
            # Escaped texts can be several times as long as in the results of the page's documents.
            raise PageFault(400, gettext(TOO_LARGE))
        return self._kept(response)

    async def shared(self, page: Callable[[], Coroutine[Any, Any, Response]]) -> Response:
        """Return the response of ``page``, shared by visitors who are not signed in.

        Simultaneous requests for the same address and language share one call. A request after a
        write of this process does not share a call from before the write. The page may depend only
        on the address, the language and the stored data. Requests with the header If-None-Match or
        an invalid JWT do not share a call, because their responses differ.
        """
        if self.session.ended or "if-none-match" in self.http.headers:
            return await page()
        asked = sessions.kept(self.http, sessions.LANGUAGE_COOKIE)
        writes = self.session.context.stores.writes
        address = self.http.scope["path"], self.http.scope["query_string"]
        key = (self.site, address, i18n.spoken(), asked, writes)
        one = await self.http.app.state.shared_pages.read(key, page)
        # A copy, because middleware adds headers to each response.
        own = Response(one.body, one.status_code)
        own.raw_headers = [*one.raw_headers]
        return own

    def _facts(self) -> dict[str, Any]:
        """Return the variables that all templates use: addresses, the user, and messages."""
        notice = NOTICES.get(self.http.query_params.get("notice", ""))
        return {
            "root": self.root,
            "site": self.site,
            "here": self.here,
            "viewer": self.session.name,
            "viewer_id": self.session.username,
            "merchant": self.session.replies,
            "moderator": self.session.moderates,
            "explains": self.session.context.explain,
            "by_link": self.by_link,
            "demo_user": self.demo and self.demo.username,
            "form_key": self.session.form_key,
            "ended": self.session.ended and gettext(SESSION_ENDED),
            "notice": gettext(notice) if notice else None,
            "aspect_labels": labels(self.session.context, i18n.spoken()),
            "picture_origins": self.http.app.state.picture_origins,
            "loading": self.http.app.state.loading(),
            # After a POST there are no links to other languages, because following a link would
            # lose the typed text.
            "spoken_languages": LANGUAGES if self.http.method != "POST" else [],
        }

    def _headers(self, template: str, status: int, facts: dict[str, Any]) -> dict[str, str]:
        """Return the headers of a page.

        A page for a signed-in user contains the form key, so shared caches must not store the page.
        Pages for signed-in users have no ETag. Error pages have none either.
        """
        headers: dict[str, str] = self.http.app.state.headers
        if self.by_link:
            return headers | _BY_LINK
        if self.session.username is not None:
            return headers | {"Cache-Control": "private, no-cache"}
        tag = {"ETag": rendering.etag(template, facts)} if status == HTTPStatus.OK else {}
        return headers | {"Cache-Control": "no-cache"} | tag

    def _kept(self, response: Response) -> Response:
        """Set and delete cookies in ``response``, unless the page is ``by_link``, and return it.

        If the address contains a language of the pages, a cookie stores the language. If the JWT in
        the session's cookie is invalid, the cookie is deleted.
        """
        if self.by_link:
            return response
        asked = i18n.offered(self.http.query_params.get("lang", ""))
        if asked is not None and sessions.kept(self.http, sessions.LANGUAGE_COOKIE) != asked:
            name = sessions.LANGUAGE_COOKIE
            sessions.put(response, self.http, name, asked, samesite="lax", seconds=_YEAR)
        if self.session.ended is not None:
            sessions.drop(response, self.http, sessions.COOKIE)
        return response


Handler = Callable[[PageRequest], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def endpoint(
    view: GraphQLView, handler: Handler, demo: DemoAccount | None = None, *, by_link: bool = False
) -> Endpoint:
    """Return a route's endpoint, which calls ``handler``. See ``PageRequest.by_link``.

    The endpoint returns an error page if the handler raises PageFault, the JWT in the header is
    invalid, the issuer's keys are unavailable, or the address is too long. If the address is too
    long, clients other than browsers get JSON.
    """

    async def anonymous(http: Request) -> PageRequest:
        return PageRequest(http, view, Session(await view.context(None)), demo, by_link)

    async def refused(http: Request, fault: PageFault, **facts: Any) -> Response:
        return fault_page(await anonymous(http), fault, **facts)

    async def answer(http: Request) -> Response:
        query = http.scope["query_string"]
        address = len(http.scope["raw_path"]) + (len(query) + 1 if query else 0)
        too_long = address > MAX_PAGE_ADDRESS
        if too_long and not prefers_html(http.headers.get("accept")):
            return failure(
                414, f"The address is longer than {MAX_PAGE_ADDRESS:,} bytes: shorten it."
            )
        with i18n.speaking(sessions.language(http)):
            if too_long:  # the page must not repeat the address in its links
                message = gettext(
                    "This link is too long; the maximum is %(most)s bytes. Start again from the "
                    "home page.",
                    most=formats.number(MAX_PAGE_ADDRESS),
                )
                fault = PageFault(414, message)
                return await refused(http, fault, here="/", spoken_languages=[])
            try:
                if by_link:
                    request = await anonymous(http)
                else:
                    session = await sessions.open_session(view, http)
                    request = PageRequest(http, view, session, demo)
                return await handler(request)
            except InvalidTokenError as error:
                return await refused(http, PageFault(401, gettext(FLAWS[error.flaw])))
            except KeysUnavailableError:
                return await refused(http, PageFault(503, gettext(KEYS_AWAY)))
            except PageFault as fault:
                return fault_page(request, fault)

    return answer


def fault_page(request: PageRequest, fault: PageFault, **facts: Any) -> Response:
    """Return the error page for a fault. ``facts`` replace variables of the page's template."""
    first = request.first_page if fault.leaves_list else None
    facts = {
        "code": fault.status,
        "message": fault.message,
        "first": first,
        "listed": fault.listed,
        **facts,
    }
    response = request.render("fault.html", fault.status, **facts)
    if fault.status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = "5"
    return response
