"""The paths of pages and of their files, for metrics, traces and the access log.

Before the first request for a page, a server imports no other module of this package.
"""

import re

PATHS = re.compile(
    r"(?P<static>/static/.*|/widget\.js|/favicon\.ico|/apple-touch-icon(-precomposed)?\.png)|"
    r"(?P<page>/|/products(/.*)?|/(comments|authors|widget)/.*|"
    r"/widget|/votes|/orders|/tickets(/.*)?|/moderation|/playground(/drawing)?|/sign-(in(/provider|/callback)?|out)|"
    r"/review|/photo-uploads|/robots\.txt|/sitemap\.xml)"
)
"""The group that matches is ``static`` for a file, and ``page`` for a page."""
