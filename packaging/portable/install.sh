#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the filter beside this script into your own GIMP 3: ./install.sh; takes it out again: ./install.sh --uninstall.
# Nothing is touched but the folder plug-ins/grainless in GIMP's own folder of settings, and, where GEGL looks for effects,
# gegl-0.4/plug-ins/grainless-effect.so with the folder grainless beside gegl-0.4.
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

install() { # SOURCE FOLDER
    if [ -e "$2" ] && [ ! -f "$2/$list" ]; then
        die "$2 exists and was not put there by this script: it stays as it is"
    fi
    remove "$2"
    mkdir -p "$2"
    cp -R "$1/." "$2/"
    (cd "$1" && find . -depth ! -name .) >"$2/$list"
    echo "installed: $2"
}

# Where the GIMP of these settings has its users' data.
data_of() { # PROFILE
    case $1 in
        "$HOME"/.var/app/org.gimp.GIMP/*) echo "$HOME/.var/app/org.gimp.GIMP/data" ;;
        *) echo "${XDG_DATA_HOME:-$HOME/.local/share}" ;;
    esac
}

remove_effect() { # DATA_FOLDER
    [ -f "$1/grainless/$list" ] || return 0
    remove "$1/grainless"
    rm -f -- "$1/gegl-0.4/plug-ins/grainless-effect.so"
}

install_effect() { # DATA_FOLDER
    install "$here/effect/grainless" "$1/grainless"
    mkdir -p "$1/gegl-0.4/plug-ins"
    rm -f -- "$1/gegl-0.4/plug-ins/grainless-effect.so"
    cp "$here/effect/grainless-effect.so" "$1/gegl-0.4/plug-ins/"
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
        remove_effect "$(data_of "$profile")"
        echo "removed: $profile/plug-ins/grainless"
    else
        install "$here/grainless" "$profile/plug-ins/grainless"
        install_effect "$(data_of "$profile")"
    fi
done
[ "$found" ] || die "there are no settings of GIMP 3 in your home folder: start GIMP 3 once, then this script again"
if [ "${1:-}" != --uninstall ]; then echo "Start GIMP anew: Filters > Enhance > Grainless Denoise"; fi
