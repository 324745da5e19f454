# SPDX-License-Identifier: MIT
# Sourced by tests that print TAP.
# shellcheck shell=bash
number=0
check() { # WHAT COMMAND…
    local what=$1 result=ok
    shift
    "$@" || result='not ok'
    echo "$result $((++number)) - $what"
}
