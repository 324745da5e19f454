# Messages and privileges, shared by ./dev and its parts (sourced, never run).
# Everything goes to stderr: the stdout of ./dev belongs to the command it runs.
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout is ./dev's

# Every step says how long the command has been at work. The start is handed on into the Debian 13 root.
export GRAINLESS_STARTED=${GRAINLESS_STARTED:-$EPOCHSECONDS}
step() {
    local elapsed=$((EPOCHSECONDS - GRAINLESS_STARTED))
    printf '==> [%d:%02d] %s\n' $((elapsed / 60)) $((elapsed % 60)) "$*" >&2
}

die() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        while [[ $1 == -* ]]; do shift; done
        die "root rights are needed to run '$1': become root, or install sudo"
    fi
}

# Of the sets that the command needs.
wanted_packages() {
    awk -v sets=" ${package_sets:-engine plug-in tools tests check} " '{ sub(/#.*/, "") } /^\[/ { set = " " substr($1, 2, length($1) - 2) " "; next }
        NF && index(sets, set) { print $1 }' "$checkout/tools/dev/packages" | sort -u
}

refresh_package_lists() {
    step "refreshing the package lists"
    as_root apt-get -qq update || die "apt-get could not refresh its package lists: is a Debian mirror reachable?"
}

install_packages() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends install "$@" >&2 ||
        die "apt-get could not install: $*"
}
