#!/bin/bash
# Runs a Windows program with a Wine of its own, which belongs to the build folder: wine.sh PROGRAM [ARGUMENT…]
export WINEPREFIX=${WINEPREFIX:-$PWD/wine} WINEDEBUG=${WINEDEBUG:--all}
exec wine "$@"
