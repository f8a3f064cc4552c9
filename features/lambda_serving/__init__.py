"""GraphQL on AWS Lambda: events of API Gateway and of function URLs, without pages.

``handler`` is the entry point of a process, like ``marginalia serve``. So it composes the
application itself, and no other module imports this feature.
"""
