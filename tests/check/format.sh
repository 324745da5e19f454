#!/bin/sh
# SPDX-License-Identifier: MIT
# Is all C++ and CUDA as .clang-format wants it? format.sh CLANG_FORMAT   (in the source root)
find engine cuda ui plugin tools tests \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) \
    -exec "$1" --dry-run -Werror {} +
