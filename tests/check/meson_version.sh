#!/bin/sh
# SPDX-License-Identifier: MIT
# What the build files use is in the oldest Meson that meson.build asks for: meson_version.sh LOG   (of the configuration)
[ -s "$1" ] && ! grep 'but uses feature' "$1"
