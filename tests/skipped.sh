#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands in for a test whose program is not installed: skipped.sh PROGRAM
echo "skipped: $1 is not installed"
exit 77
