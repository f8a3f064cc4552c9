"""The pages for people and crawlers, rendered on the server. The schema runs in the same process.

A page's data comes from a GraphQL document in ``templates``, next to the page's template.
"""
