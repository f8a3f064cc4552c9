"""The client of DynamoDB: requests, retries, credentials and administration."""

import sys

# The AWS SDK imports httpx, and httpx imports its own command line, with rich and pygments. These
# modules need 3.5 MB of memory in each process. Because of the following entry, the import of the
# command line fails, and httpx works without its command line.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
