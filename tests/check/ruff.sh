#!/bin/sh
# SPDX-License-Identifier: MIT
# ruff over every Python file (in the source root). Debian has none: ./dev brings its own from PyPI, where it can.
ruff=${GRAINLESS_RUFF:-ruff}
if ! command -v "$ruff" >/dev/null; then
    echo "skipped: ruff is not installed"
    exit 77
fi
"$ruff" check --no-cache --exclude build .
