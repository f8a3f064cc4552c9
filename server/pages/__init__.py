"""The pages for people and crawlers, rendered on the server from the schema run in process.

A page's data comes from a GraphQL document in ``templates``, next to the page's template.
"""
