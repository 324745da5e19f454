#!/bin/bash
# Runs a Windows program with a Wine whose folder lies under build/: wine.sh PROGRAM [ARGUMENT…]
#
# Wine's server ends with its last program, and the next one starts it again. 'wine.sh --stay' makes the folder where
# there is none yet, and starts a server that ends when nobody has used it for a minute.
here=$(realpath "$(dirname "$0")/../..")
# Wine takes names of files for what the locale says.
export LC_ALL=C.UTF-8 WINEDEBUG=${WINEDEBUG:--all} WINEPREFIX=${WINEPREFIX:-$here/build/cross-windows/wine}
# The first program after a pause would wait for services, a desktop and drivers, which ours don't need; and who reads
# its output to the end would wait seconds more, until these end, too. Nor is there anything for .NET or web pages.
export WINEDLLOVERRIDES='services.exe,explorer.exe,plugplay.exe,winedevice.exe,winemenubuilder.exe,mscoree,mshtml='
if [[ ${1:-} == --stay ]]; then
    mkdir -p "$WINEPREFIX" || exit
    # It would keep a pipe open that it inherits. Status 2: there is a server.
    wineserver -p60 </dev/null &>/dev/null || (($? == 2)) || exit
    if [[ ! -f $WINEPREFIX/.update-timestamp ]]; then wineboot --init </dev/null &>/dev/null; fi
    exit
fi
exec wine "$@"
