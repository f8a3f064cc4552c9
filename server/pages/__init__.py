"""The pages for people and crawlers, rendered on the server from the schema run in process.

What a page shows it asks for by a GraphQL document in ``web/templates``, beside its template.
"""
