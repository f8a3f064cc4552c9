"""A Lambda process: it answers the events of its standard input, and is frozen after each answer.

The process stops itself by SIGSTOP as soon as the handler has returned, like Lambda, and runs again
after SIGCONT.
"""

import json
import os
import signal
import sys


def run() -> None:
    from features.lambda_serving.handler import handler  # noqa: PLC0415 - as Lambda's runtime does

    for line in sys.stdin:
        answer = handler(json.loads(line), None)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    run()
