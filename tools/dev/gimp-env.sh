#!/bin/bash
# Runs a command in a private GIMP profile that knows the filter:
#
#     gimp-env.sh [--gui | --kept | --desktop] PROFILE_DIR PLUGIN_DIR COMMAND…
#
# PROFILE_DIR is made anew (only a folder that this script made earlier is replaced), PLUGIN_DIR is the plug-ins folder
# that holds grainless/grainless. The command sees HOME, XDG_* and GIMP3_DIRECTORY below PROFILE_DIR, and no display:
# a test must touch neither the user's settings nor the user's desktop.
#
# --gui      gives it a display of its own: Xvfb, a window manager, D-Bus and the accessibility bus, all ended with it.
#            GRAINLESS_SCREEN=WIDTHxHEIGHT says how large (1600x1000); with GDK_SCALE=2 as on a screen of fine pixels.
#            GRAINLESS_WAYLAND=SCALE makes it a Wayland display without a screen (sway), of that scale.
# --kept     keeps an earlier profile, which spares GIMP the ten seconds of asking every plug-in what it offers.
# --desktop  leaves it the user's session, and keeps an earlier profile: GIMP opened by hand.
#
# The status is the command's.
set -euo pipefail

die() {
    printf 'gimp-env: %s\n' "$*" >&2
    exit 1
}

mode=headless
case ${1:-} in
    --gui | --kept | --desktop)
        mode=${1#--}
        shift
        ;;
esac
(($# >= 3)) || die "usage: gimp-env.sh [--gui | --kept | --desktop] PROFILE_DIR PLUGIN_DIR COMMAND…"
[[ -d $2 ]] || die "there is no plug-ins folder $2: './dev build' makes it"
mkdir -p "$(dirname "$1")"
profile=$(realpath -m "$1")
plug_ins=$(realpath "$2")
shift 2
mark=$profile/.grainless-profile

make_profile() {
    if [[ -e $profile && ! -e $mark ]]; then
        [[ -d $profile && -z $(ls -A "$profile") ]] || die "$profile is not a profile made by this script: it stays as it is"
    elif [[ $mode != desktop && $mode != kept ]]; then
        rm -rf --one-file-system -- "$profile"
    fi
    mkdir -p "$profile"/{home,gimp,run}
    chmod 700 "$profile/run"
    touch "$mark"
    # GIMP writes its preferences into gimprc: somebody's own are kept.
    [[ $mode != desktop || ! -e $profile/gimp/gimprc ]] || return 0
    # Nothing may ask a question or open a window of its own before the command does. A profile without a version is
    # taken for a first start, and a first start shows the Welcome dialog whatever show-welcome-dialog says.
    local version
    version=$(pkg-config --modversion gimp-3.0) || die "GIMP 3's version is unknown: pkg-config or gimp-3.0.pc is missing"
    cat >"$profile/gimp/gimprc" <<GIMPRC
(show-welcome-dialog no)
(check-updates no)
(color-profile-policy keep)
(metadata-rotation-policy keep)
(config-version "$version")
(last-release-seen-at-least "$version")
(plug-in-path "\${gimp_dir}/plug-ins:\${gimp_plug_in_dir}/plug-ins:$plug_ins")
GIMPRC
}

# GEGL looks for a user's operations below XDG_DATA_HOME; ours lies in the tree that holds the plug-ins folder.
add_effect() {
    local module=$plug_ins/../../../gegl-0.4/grainless-effect.so folder=$profile/home/.local/share/gegl-0.4/plug-ins
    if [[ -e $module ]]; then mkdir -p "$folder" && ln -sfn "$(realpath "$module")" "$folder/"; fi
}

set_variables() {
    if [[ $mode == desktop ]]; then
        # With another HOME the X client would look for its cookie in the wrong place.
        export XAUTHORITY=${XAUTHORITY:-$HOME/.Xauthority}
    else
        unset DISPLAY WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS AT_SPI_BUS_ADDRESS GTK_MODULES
        export XDG_RUNTIME_DIR=$profile/run LANG=C.UTF-8 LC_ALL=C.UTF-8
        unset LANGUAGE
    fi
    export HOME=$profile/home GIMP3_DIRECTORY=$profile/gimp
    export XDG_CONFIG_HOME=$HOME/.config XDG_DATA_HOME=$HOME/.local/share
    export XDG_CACHE_HOME=$HOME/.cache XDG_STATE_HOME=$HOME/.local/state
}

# Exactly the processes started here are ended, by id, last started first.
started=()
runtime=
finish() {
    local status=$? i
    trap - EXIT
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do
        kill "${started[i]}" 2>/dev/null || true
        wait "${started[i]}" 2>/dev/null || true
    done
    if [[ $runtime ]]; then rm -rf -- "$runtime"; fi
    exit "$status"
}

start_x() {
    local display=$profile/display
    export GDK_BACKEND=x11
    # A number that is nobody else's: a display that ends takes the socket of one that has just got its number along.
    # Without -noreset it starts anew when the first question whether it is there has been answered, and refuses who
    # comes meanwhile: the window manager.
    Xvfb ":$((100 + $$ % 50000))" -displayfd 3 -noreset -screen 0 "${GRAINLESS_SCREEN:-1600x1000}x24" -nolisten tcp 3>"$display" >"$profile/xvfb.log" 2>&1 &
    started+=($!)
    wait_for xvfb "the display without a screen" test -s "$display"
    DISPLAY=:$(<"$display")
    export DISPLAY
}

# Windows beside each other, without decorations, dialogs above them. To GTK a window's shadow is a part of it, and to
# the display it is not: without shadows they mean the same place.
start_wayland() {
    mkdir -p "$XDG_CONFIG_HOME/gtk-3.0"
    echo 'decoration { box-shadow: none; margin: 0; }' >"$XDG_CONFIG_HOME/gtk-3.0/gtk.css"
    export GDK_BACKEND=wayland XDG_SESSION_TYPE=wayland SWAYSOCK=$XDG_RUNTIME_DIR/sway WAYLAND_DISPLAY=wayland-1
    cat >"$profile/sway" <<SWAY
output * resolution ${GRAINLESS_SCREEN:-1600x1000} scale $GRAINLESS_WAYLAND
xwayland disable
default_border none
default_floating_border none
SWAY
    env -u WAYLAND_DISPLAY WLR_BACKENDS=headless WLR_RENDERER=pixman WLR_LIBINPUT_NO_DEVICES=1 \
        sway --config "$profile/sway" >"$profile/sway.log" 2>&1 &
    started+=($!)
    wait_for sway "the Wayland display without a screen" swaymsg -t get_outputs
}

run_in_own_display() {
    trap finish EXIT
    trap 'exit 143' TERM
    trap 'exit 130' INT
    # Sockets have short names: a profile deep in a build tree would be too long.
    runtime=$(mktemp -d "${TMPDIR:-/tmp}/grainless-gui.XXXXXX")
    export XDG_RUNTIME_DIR=$runtime
    if [[ ${GRAINLESS_WAYLAND:-} ]]; then start_wayland; else start_x; fi

    # The session bus takes along what it started (the accessibility bus), so it is ended after the command only.
    dbus-daemon --session --nofork --print-address=3 3>"$profile/bus" >"$profile/dbus.log" 2>&1 &
    started+=($!)
    wait_for dbus "the session bus" test -s "$profile/bus"
    DBUS_SESSION_BUS_ADDRESS=$(<"$profile/bus")
    export DBUS_SESSION_BUS_ADDRESS

    if [[ ! ${GRAINLESS_WAYLAND:-} ]]; then
        openbox >"$profile/openbox.log" 2>&1 &
        started+=($!)
        wait_for openbox "the window manager" xdotool get_num_desktops
    fi
    # Asking for the accessibility bus starts it.
    wait_for dbus "the accessibility bus" dbus-send --session --print-reply --dest=org.a11y.Bus /org/a11y/bus org.a11y.Bus.GetAddress

    # In the background, so that a signal is answered while the command runs.
    "$@" <&0 &
    local command=$! status=0
    started+=("$command")
    wait "$command" || status=$?
    exit "$status"
}

wait_for() { # LOG WHAT COMMAND…
    local log=$profile/$1.log what=$2 tries
    shift 2
    for ((tries = 0; tries < 600; tries++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    tail -n 20 "$log" >&2 || true
    die "$what did not start within a minute; the end of $log stands above"
}

make_profile
add_effect
set_variables
if [[ $mode == gui ]]; then
    run_in_own_display "$@"
else
    exec "$@"
fi
