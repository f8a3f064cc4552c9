"""The HTML pages for people and crawlers, rendered on the server.

Pages read and write data only through GraphQL. Their GraphQL documents are in ``templates``, next
to the HTML, and run in the server's own process.
"""
