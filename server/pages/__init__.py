"""The HTML pages for people and crawlers, rendered on the server.

A page gets its data from a GraphQL document in ``templates``, which has the name of the page's
template. The document runs in the same process.
"""
