# The filter in the user's own GIMP 3 (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout, plug_ins: ./dev's

# Lists what install puts there, one path a line, folders after their contents: uninstall removes exactly that.
installed_list=.installed-by-grainless-dev

# Under sudo the user is the one who called it: root's own GIMP is nobody's wish.
owner=${SUDO_USER:-$(id -un)}

as_owner() {
    if [[ $owner == "$(id -un)" ]]; then "$@"; else runuser -u "$owner" -- "$@"; fi
}

# Prints this system's GIMP 3 and its version as major.minor, which names its profile folder.
gimp_series() {
    local program version
    for program in gimp-console-3.0 gimp-console-3.2 gimp-console-3 gimp-console gimp; do
        version=$("$program" --version 2>/dev/null | sed -nE 's/.* (3\.[0-9]+)\.[0-9]+.*/\1/p' | head -n 1) || true
        if [[ $version ]]; then echo "$program $version" && return 0; fi
    done
    return 1
}

# A development version 3.1 keeps its profile under 3.2; a profile of the other series may exist beside it.
profiles() {
    local series=$1 configuration home other
    home=$(getent passwd "$owner" | cut -d: -f6)
    configuration=$home/.config
    if [[ $owner == "$(id -un)" ]]; then
        if [[ ${GIMP3_DIRECTORY:-} == /* ]]; then echo "$GIMP3_DIRECTORY" && return; fi
        configuration=${XDG_CONFIG_HOME:-$HOME/.config}
    fi
    echo "$configuration/GIMP/$series"
    for other in 3.0 3.2; do
        if [[ $other != "$series" && -d $configuration/GIMP/$other ]]; then echo "$configuration/GIMP/$other"; fi
    done
}

# GIMP takes brushes, presets and settings over from an older version when it starts without a folder of its own. One that
# held nothing but a plug-in would be such a folder, and they would stay behind for good.
let_gimp_make() { # PROFILE
    as_owner test -d "$1" && return
    step "GIMP makes its folder of settings: $1"
    local -a environment=()
    # Where root's own settings lie is not where this user's do.
    [[ $owner == "$(id -un)" ]] || environment=(-u GIMP3_DIRECTORY -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME)
    as_owner env "${environment[@]}" timeout 300 "$gimp" --no-interface --no-fonts --quit >/dev/null 2>&1 </dev/null || true
    as_owner test -d "$1" || die "GIMP did not make its folder $1: start GIMP once, then './dev install' again"
}

require_gimp() {
    read -r gimp series < <(gimp_series) ||
        die "GIMP 3 is not installed on this system: there is no GIMP to put the filter into ('./dev gimp' needs none)"
    require_owner
}

require_owner() { getent passwd "$owner" >/dev/null || die "there is no user '$owner'"; }

# Read with the rights of ./dev, written with the user's: every file and folder ends up the user's own. Links are followed:
# what they lead to may not be there tomorrow.
put_folder() { # SOURCE FOLDER
    local source=$1 folder=$2
    if as_owner test -e "$folder" && ! as_owner test -e "$folder/$installed_list"; then
        die "$folder exists and was not put there by './dev install': it stays as it is"
    fi
    take_folder "$folder" || true
    as_owner mkdir -p "$folder" || die "$folder could not be made"
    # First what is going to be there: whatever ends the copying, the next call knows it for ours.
    (cd "$source" && find -L . -depth -mindepth 1) | as_owner tee "$folder/$installed_list" >/dev/null ||
        die "$folder/$installed_list could not be written"
    tar -C "$source" -ch . | as_owner tar -C "$folder" --no-same-owner -x ||
        die "the filter could not be copied to $folder"
    step "installed: $folder"
}

install_into() { put_folder "$plug_ins/grainless" "$1/plug-ins/grainless"; }

# GEGL loads every module that lies in its folder: the effect lies there alone, what it needs in a folder of its own, whose
# list says whose the module is.
install_effect() { # DATA_FOLDER
    local libraries=$plug_ins/../../.. module=$1/gegl-0.4/plug-ins/grainless-effect.so
    [[ -e $libraries/gegl-0.4/grainless-effect.so ]] || return 0
    if as_owner test -e "$module" && ! as_owner test -e "$1/grainless/$installed_list"; then
        die "$module exists and was not put there by './dev install': it stays as it is"
    fi
    put_folder "$libraries/grainless" "$1/grainless"
    as_owner mkdir -p "$(dirname "$module")" || die "$(dirname "$module") could not be made"
    # A GIMP that runs goes on with the file that it has.
    as_owner rm -f "$module"
    # shellcheck disable=SC2002 # as_owner may not read the stage
    cat "$libraries/gegl-0.4/grainless-effect.so" | as_owner tee "$module" >/dev/null || die "$module could not be written"
    step "installed: $module"
}

# True when there was something to remove.
uninstall_effect() { # DATA_FOLDER
    take_folder "$1/grainless" || return 1
    as_owner rm -f "$1/gegl-0.4/plug-ins/grainless-effect.so"
    as_owner rmdir -p --ignore-fail-on-non-empty "$1/gegl-0.4/plug-ins" 2>/dev/null || true
}

# Where GEGL looks for a user's modules.
data_folder() {
    local home=$HOME
    if [[ $owner != "$(id -un)" ]]; then
        home=$(getent passwd "$owner" | cut -d: -f6)
    elif [[ ${XDG_DATA_HOME:-} == /* ]]; then
        echo "$XDG_DATA_HOME" && return
    fi
    echo "$home/.local/share"
}

uninstall_from() { take_folder "$1/plug-ins/grainless"; }

# True when there was something to remove.
take_folder() { # FOLDER
    local folder=$1 path
    as_owner test -f "$folder/$installed_list" || return 1
    while read -r path; do
        as_owner test -e "$folder/$path" || continue
        if as_owner test -d "$folder/$path"; then
            as_owner rmdir --ignore-fail-on-non-empty "$folder/$path"
        else
            as_owner rm -f "$folder/$path"
        fi
    done < <(as_owner cat "$folder/$installed_list")
    as_owner rm -f "$folder/$installed_list"
    as_owner rmdir --ignore-fail-on-non-empty "$folder"
}

cmd_install() {
    require_gimp
    [[ $(environment_kind) == native ]] ||
        die "this system's packages offer no GIMP 3 to build for: './dev gimp' opens GIMP with the filter instead"
    ensure_native
    build plug-in
    local profile
    let_gimp_make "$(profiles "$series" | head -n 1)"
    while read -r profile; do install_into "$profile"; done < <(profiles "$series")
    install_effect "$(data_folder)"
}

cmd_uninstall() {
    require_owner
    local profile series found=
    # GIMP itself may be gone by now.
    read -r _ series < <(gimp_series) || series=3.0
    while read -r profile; do
        if uninstall_from "$profile"; then
            step "removed: $profile/plug-ins/grainless"
            found=1
        fi
    done < <(profiles "$series")
    if uninstall_effect "$(data_folder)"; then
        step "removed: the effect from $(data_folder)"
        found=1
    fi
    [[ $found ]] || step "nothing to remove: './dev install' has put nothing there"
}
