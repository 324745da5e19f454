#!/bin/bash
# Runs a Windows program with a Wine whose folder lies under build/: wine.sh PROGRAM [ARGUMENT…]
#
# Wine's server ends with its last program, and the next one starts it again, which takes seconds. 'wine.sh --stay' starts
# one that ends when nobody has used it for a minute.
here=$(realpath "$(dirname "$0")/../..")
# Wine takes names of files for what the locale says.
export LC_ALL=C.UTF-8 WINEDEBUG=${WINEDEBUG:--all} WINEPREFIX=${WINEPREFIX:-$here/build/cross-windows/wine}
if [[ ${1:-} == --stay ]]; then exec wineserver -p60; fi
exec wine "$@"
