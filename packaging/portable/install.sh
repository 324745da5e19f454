#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the filter beside this script into your own GIMP 3: ./install.sh; takes it out again: ./install.sh --uninstall.
# Nothing is touched but the folder plug-ins/grainless in GIMP's own folder of settings, and, where GEGL looks for effects,
# gegl-0.4/plug-ins/grainless-effect.so with the folder grainless beside gegl-0.4.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
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

# Exactly the files that an earlier call put there, or was going to. False when there was nothing of ours.
remove() { # FOLDER
    [ -f "$1/$list" ] || return 1
    # A last line without its end was cut short by a full disk: read leaves it out.
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

# What is not ours stays, and nothing is begun where it is in the way.
refuse_others() { # PROFILE DATA_FOLDER
    for path in "$1/plug-ins/grainless" "$2/grainless"; do
        if [ -e "$path" ] && [ ! -f "$path/$list" ]; then
            die "$path exists and was not put there by this script: it stays as it is"
        fi
    done
    path=$2/gegl-0.4/plug-ins/grainless-effect.so
    if [ -e "$path" ] && [ ! -f "$2/grainless/$list" ]; then
        die "$path exists and was not put there by this script: it stays as it is"
    fi
}

install() { # SOURCE FOLDER
    remove "$2" || true
    mkdir -p "$2"
    # First what is going to be there: whatever ends the copying, the next call knows it for ours.
    (cd "$1" && find . -depth ! -name .) >"$2/$list"
    cp -R "$1/." "$2/"
    echo "installed: $2"
}

# Where the GIMP of these settings has its users' data.
data_of() { # PROFILE
    case $1 in
        "$HOME"/.var/app/org.gimp.GIMP/*) echo "$HOME/.var/app/org.gimp.GIMP/data" ;;
        *) echo "${XDG_DATA_HOME:-$HOME/.local/share}" ;;
    esac
}

# Of each GIMP, whether its settings are still there or not.
data_folders() {
    case ${GIMP3_DIRECTORY:-} in
        /*) data_of "$GIMP3_DIRECTORY" ;;
        *) data_of "" && data_of "$HOME/.var/app/org.gimp.GIMP/" ;;
    esac
}

remove_effect() { # DATA_FOLDER
    remove "$1/grainless" || return 1
    rm -f -- "$1/gegl-0.4/plug-ins/grainless-effect.so"
    rmdir "$1/gegl-0.4/plug-ins" "$1/gegl-0.4" 2>/dev/null || true
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
# Folders' names may hold spaces and stars, lines end them.
IFS='
'
all=$(profiles)
data=$(data_folders)
set -f
if [ "${1:-}" = --uninstall ]; then
    found=
    for profile in $all; do
        if remove "$profile/plug-ins/grainless"; then
            echo "removed: $profile/plug-ins/grainless"
            found=yes
        fi
    done
    for folder in $data; do
        if remove_effect "$folder"; then
            echo "removed: the effect from $folder"
            found=yes
        fi
    done
    [ "$found" ] || echo "nothing to remove: this script has put nothing there"
    exit
fi
[ "$all" ] || die "there are no settings of GIMP 3 in your home folder: start GIMP 3 once, then this script again"
for profile in $all; do refuse_others "$profile" "$(data_of "$profile")"; done
for profile in $all; do
    install "$here/grainless" "$profile/plug-ins/grainless"
    install_effect "$(data_of "$profile")"
done
echo "Start GIMP anew: Filters > Enhance > Grainless Denoise"
