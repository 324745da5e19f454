# The filter in the user's own GIMP 3 (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout, plug_ins: ./dev's

# Lists what install put there, one path a line, folders after their contents: uninstall removes exactly that.
installed_list=.installed-by-grainless-dev

# Under sudo the user is the one who called it: root's own GIMP is nobody's wish.
owner=${SUDO_USER:-$(id -un)}

as_owner() {
    if [[ $owner == "$(id -un)" ]]; then "$@"; else runuser -u "$owner" -- "$@"; fi
}

# Prints the version of this system's GIMP 3 as major.minor, which names its profile folder.
gimp_series() {
    local program version
    for program in gimp-console-3.0 gimp-console-3.2 gimp-console-3 gimp-console gimp; do
        version=$("$program" --version 2>/dev/null | sed -nE 's/.* (3\.[0-9]+)\.[0-9]+.*/\1/p' | head -n 1) || true
        if [[ $version ]]; then echo "$version" && return 0; fi
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

require_gimp() {
    series=$(gimp_series) ||
        die "GIMP 3 is not installed on this system: there is no GIMP to put the filter into ('./dev gimp' needs none)"
    getent passwd "$owner" >/dev/null || die "there is no user '$owner'"
}

# Read with the rights of ./dev, written with the user's: every file and folder ends up the user's own.
install_into() {
    local folder=$1/plug-ins/grainless
    if as_owner test -e "$folder" && ! as_owner test -e "$folder/$installed_list"; then
        die "$folder exists and was not put there by './dev install': it stays as it is"
    fi
    uninstall_from "$1" || true
    as_owner mkdir -p "$folder" || die "$folder could not be made"
    tar -C "$plug_ins/grainless" -c . | as_owner tar -C "$folder" --no-same-owner -x ||
        die "the filter could not be copied to $folder"
    (cd "$plug_ins/grainless" && find . -depth -mindepth 1) | as_owner tee "$folder/$installed_list" >/dev/null
    step "installed: $folder"
}

# True when there was something to remove.
uninstall_from() {
    local folder=$1/plug-ins/grainless path
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
    while read -r profile; do install_into "$profile"; done < <(profiles "$series")
}

cmd_uninstall() {
    require_gimp
    local profile found=
    while read -r profile; do
        if uninstall_from "$profile"; then
            step "removed: $profile/plug-ins/grainless"
            found=1
        fi
    done < <(profiles "$series")
    [[ $found ]] || step "nothing to remove: './dev install' has put nothing there"
}
