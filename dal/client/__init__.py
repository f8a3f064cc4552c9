"""The client of DynamoDB: requests, retries, credentials, streams and administration."""

import sys

# The AWS SDK imports httpx, and httpx imports its own command line, with rich and pygments. They
# need 3.5 MB of memory in each process. With None, this import fails, which httpx allows.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
