# Where ./dev works: on this system when it offers GIMP 3, in a Debian 13 root otherwise (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout is ./dev's

# GRAINLESS_GIMP=3.2 (./dev test --gimp) means Debian's next release, whose root is another.
root=${GRAINLESS_ROOT:-$checkout/build/debian13}
release=trixie
if [[ ${GRAINLESS_GIMP:-} ]]; then
    root=${GRAINLESS_ROOT_FORKY:-$checkout/build/forky}
    release=forky
fi
root_stamp=$root/etc/grainless-packages

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

apt_offers() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# The stamp lists the packages a finished root holds. It is written last, so a root without it was interrupted.
# A root that several checkouts share may hold more than this one wants.
root_is_ready() {
    [[ -f $root_stamp ]] && [[ -z $(comm -23 <(wanted_packages) "$root_stamp") ]]
}

# Prints native or root. The cheap answers come first: this runs on every start.
environment_kind() {
    if [[ ${GRAINLESS_GIMP:-} && ! ${GRAINLESS_INSIDE:-} ]]; then
        echo root
    elif ! command -v apt-get >/dev/null; then
        pkg-config --exists gimp-3.0 2>/dev/null ||
            die "this system has neither apt-get nor the GIMP 3 development files (gimp-3.0.pc): Debian 12 or newer is needed"
        echo native
    elif is_installed libgimp-3.0-dev; then
        echo native
    elif [[ -f $root_stamp ]]; then
        echo root
    elif apt_offers libgimp-3.0-dev; then
        echo native
    else
        # A fresh machine has empty lists, which say nothing about what its release offers.
        refresh_package_lists
        if apt_offers libgimp-3.0-dev; then echo native; else echo root; fi
    fi
}

missing_packages() {
    command -v apt-get >/dev/null || return 0
    comm -23 <(wanted_packages) \
        <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u)
}

native_is_ready() { [[ -z $(missing_packages) ]]; }

ensure_native() {
    local -a missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0
    refresh_package_lists
    step "installing ${#missing[@]} packages: ${missing[*]}"
    install_packages "${missing[@]}"
}

# The Debian mirror this machine already uses, or nothing: then mmdebstrap takes its own default.
host_mirror() {
    # shellcheck disable=SC2016 # apt-get's own placeholder
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $(
        # shellcheck source=/dev/null
        . /etc/os-release && echo "${VERSION_CODENAME:-}"
    )" 2>/dev/null | head -n 1
}

# Proxies, certificates and date checks of this machine's apt; without them the new root would go another way.
host_apt_options() {
    apt-config dump --no-empty | grep -E '^Acquire::(https?::|ftp::|Retries|Check-Valid-Until|Check-Date|ForceIPv)' || true
}

# Makes a root of a Debian release, without documentation and translations. A private mount namespace: whatever happens to
# mmdebstrap, its mounts go with it. dpkg need not sync each file: a root can always be made again.
bootstrap() { # SUITE DIRECTORY PACKAGE…
    local suite=$1 directory=$2 options
    shift 2
    command -v mmdebstrap >/dev/null || {
        refresh_package_lists
        step "installing mmdebstrap"
        install_packages mmdebstrap
    }
    command -v unshare >/dev/null || install_packages util-linux
    if [[ -e $directory ]]; then
        step "removing $directory"
        remove_tree "$directory"
    fi
    options=$(mktemp)
    host_apt_options >"$options"
    # shellcheck disable=SC2046 # a mirror, or none
    as_root unshare --mount --propagation private mmdebstrap --mode=root --variant=apt --components=main \
        --include="$(IFS=, && echo "$*")" \
        --aptopt="$options" --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        "$suite" "$directory" $(host_mirror) >&2 ||
        die "the root of Debian $suite could not be made: mmdebstrap's last lines above name the reason"
    rm -f "$options"
}

make_root() {
    local -a packages
    mapfile -t packages < <(wanted_packages)
    step "making a root of Debian $release in $root (a minute or two)"
    bootstrap "$release" "$root" "${packages[@]}"
    wanted_packages | as_root tee "$root_stamp" >/dev/null
}

extend_root() {
    local -a missing
    mapfile -t missing < <(comm -23 <(wanted_packages) "$root_stamp")
    step "adding to the Debian 13 root: ${missing[*]}"
    as_root "$checkout/tools/dev/enter-root.sh" "$root" 0 0 / \
        bash -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends install "$@"' \
        apt "${missing[@]}" >&2 || die "apt-get could not add to the Debian 13 root: ${missing[*]}"
    local all
    all=$(wanted_packages | sort -u - "$root_stamp")
    as_root tee "$root_stamp" >/dev/null <<<"$all"
}

ensure_root() {
    root_is_ready && return 0
    mkdir -p "$(dirname "$root")"
    # Parallel calls wait here, and find the root finished.
    exec {lock}>"$root.lock"
    flock "$lock"
    if root_is_ready; then :; elif [[ -f $root_stamp ]]; then extend_root; else make_root; fi
    exec {lock}>&-
}

# Runs a command in the Debian 13 root as the calling user, in the current directory.
in_root() {
    local -a sudo=()
    ((EUID == 0)) || sudo=(as_root --preserve-env)
    "${sudo[@]}" "$checkout/tools/dev/enter-root.sh" "$root" "$(id -u)" "$(id -g)" "$PWD" "$@"
}

# Deletes a tree of ours and nothing else: a mount below it belongs to somebody, and stays.
remove_tree() {
    local below
    below=$(findmnt --list --noheadings --output TARGET | grep -F -- "$(realpath "$1")/" || true)
    [[ -z $below ]] || die "$1 is not removed: something is mounted below it (${below%%$'\n'*})"
    # Only a Debian 13 root is root's.
    if [[ -z $(find "$1" -xdev ! -user "$EUID" -print -quit) ]]; then
        rm -rf --one-file-system -- "$1"
    else
        as_root rm -rf --one-file-system -- "$1"
    fi
}
