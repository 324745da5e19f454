# SPDX-License-Identifier: MIT
"""Messages of the Python parts of ./dev, as its shell parts write them (common.sh). All go to
stderr."""

import os
import sys
import time

_STARTED = int(os.environ.get("GRAINLESS_STARTED", time.time()))


def step(text):
    elapsed = int(time.time()) - _STARTED
    print(f"==> [{elapsed // 60}:{elapsed % 60:02}] {text}", file=sys.stderr, flush=True)


def fail(text):
    print(f"dev: {text}", file=sys.stderr)
    sys.exit(1)
