#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the filter beside this script into your own GIMP 3: ./install.sh; takes it out again: ./install.sh --uninstall.
# Nothing but the folder plug-ins/grainless in GIMP's own folder of settings is touched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
list=.installed-by-grainless

die() {
    echo "install.sh: $*" >&2
    exit 1
}

# The folders of GIMP 3's settings: the one that GIMP3_DIRECTORY names, or those that are there, a Flatpak's among them.
profiles() {
    case ${GIMP3_DIRECTORY:-} in
        /*) echo "$GIMP3_DIRECTORY" && return ;;
    esac
    for folder in "${XDG_CONFIG_HOME:-$HOME/.config}"/GIMP/3.* "$HOME"/.var/app/org.gimp.GIMP/config/GIMP/3.*; do
        if [ -d "$folder" ]; then echo "$folder"; fi
    done
}

# Exactly the files that an earlier call put there.
remove() { # FOLDER
    [ -f "$1/$list" ] || return 0
    while read -r path; do
        if [ -d "$1/$path" ] && [ ! -L "$1/$path" ]; then
            rmdir "$1/$path" 2>/dev/null || true
        else
            rm -f -- "$1/$path"
        fi
    done <"$1/$list"
    rm -f -- "$1/$list"
    rmdir "$1" 2>/dev/null || true
}

install() { # FOLDER
    if [ -e "$1" ] && [ ! -f "$1/$list" ]; then
        die "$1 exists and was not put there by this script: it stays as it is"
    fi
    remove "$1"
    mkdir -p "$1"
    cp -R "$here/grainless/." "$1/"
    (cd "$here/grainless" && find . -depth ! -name .) >"$1/$list"
    echo "installed: $1"
}

case ${1:-} in
    '' | --uninstall) ;;
    *) die "usage: install.sh [--uninstall]" ;;
esac
found=
# Folders' names may hold spaces, lines end them.
IFS='
'
for profile in $(profiles); do
    found=yes
    if [ "${1:-}" = --uninstall ]; then
        remove "$profile/plug-ins/grainless"
        echo "removed: $profile/plug-ins/grainless"
    else
        install "$profile/plug-ins/grainless"
    fi
done
[ "$found" ] || die "there are no settings of GIMP 3 in your home folder: start GIMP 3 once, then this script again"
if [ "${1:-}" != --uninstall ]; then echo "Start GIMP anew: Filters > Enhance > Grainless Denoise"; fi
