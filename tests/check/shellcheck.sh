#!/bin/sh
# SPDX-License-Identifier: MIT
# Every script through shellcheck: shellcheck.sh SHELLCHECK   (in the source root)
find .ci/run dev docs packaging po tests tools -type f \( -path .ci/run -o -path dev -o -name '*.sh' \) \
    -exec "$1" --external-sources --source-path=SCRIPTDIR {} +
