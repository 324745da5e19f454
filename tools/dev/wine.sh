#!/bin/bash
# Runs a Windows program with a Wine whose folder lies under build/: wine.sh PROGRAM [ARGUMENT…]
here=$(realpath "$(dirname "$0")/../..")
export WINEPREFIX=${WINEPREFIX:-$here/build/cross-windows/wine} WINEDEBUG=${WINEDEBUG:--all}
exec wine "$@"
