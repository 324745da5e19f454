#!/bin/bash
# Runs a command inside the Debian 13 root: enter-root.sh ROOT UID GID DIRECTORY COMMAND…   (as root)
#
# All mounts are made in a private mount namespace. They end with the command, however it ends, and nobody else ever
# sees them, so nothing is left behind for a later 'rm' to walk into.
#
# Paths mean the same inside and outside: every top-level directory that is not the operating system's (/home, /root,
# /tmp, /work, /srv, /mnt…) is bound at its own place. So are the current directory, and files named on the command
# line, where they lie in the operating system's directories and exist only outside (a wallpaper in /usr/share).
set -euo pipefail

# exec keeps the process id, so the mark can't be inherited by a later call from inside.
if [[ ${GRAINLESS_NAMESPACE_OF:-} != "$$" ]]; then
    GRAINLESS_NAMESPACE_OF=$$ exec unshare --mount --propagation private "$0" "$@"
fi
unset GRAINLESS_NAMESPACE_OF

root=$(realpath "$1") uid=$2 gid=$3 directory=$4
shift 4

bind() { # SOURCE [OPTION]: with everything mounted below it, at the same path
    local target=$root$1
    if [[ -d $1 ]]; then mkdir -p "$target"; else mkdir -p "${target%/*}" && touch "$target"; fi
    mount --rbind ${2:+-o "$2"} "$1" "$target"
}

belongs_to_system() {
    case /${1#/}/ in
        /bin/* | /boot/* | /dev/* | /etc/* | /lib*/* | /lost+found/* | /opt/* | /proc/* | /run/* | /sbin/* | /sys/* | /usr/* | /var/*) true ;;
        *) false ;;
    esac
}

bind_top_level() {
    # The directory that holds the root itself comes first: bound later, it would carry the mounts made by then.
    local first=/${root#/} path
    first=/$(cut -d/ -f2 <<<"$first")
    belongs_to_system "$first" || bind "$first"
    for path in /*; do
        [[ -d $path && ! -L $path && $path != "$first" ]] || continue
        belongs_to_system "$path" || bind "$path"
    done
}

bind_system() {
    local path
    bind /proc
    bind /sys
    bind /dev
    # The user's session: display, sound, D-Bus.
    if [[ -d /run/user ]]; then bind /run/user; fi
    for path in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
        if [[ -f $path ]]; then bind "$(readlink -f "$path")" && link_if_moved "$path"; fi
    done
    # The certificates that this machine trusts may be more than Debian's own.
    path=/etc/ssl/certs/ca-certificates.crt
    if [[ -f $path && -f $root$path ]]; then mount --bind -o ro "$path" "$root$path"; fi
    # Without these a user id other than root's has no name inside.
    if ((uid)); then
        bind /etc/passwd
        bind /etc/group
    fi
    # NVIDIA's packages make /usr/local/cuda a link into /etc/alternatives, which the root lacks.
    for path in /usr/local/cuda*; do
        [[ -d $path ]] || continue
        mkdir -p "$root$path"
        mount --bind -o ro "$(readlink -f "$path")" "$root$path"
    done
}

# A graphics driver's user-space half belongs to the kernel module that is loaded, so it has to be this system's own.
# It lies in a memory file system that ends with the namespace: a root outlives driver updates.
driver=/usr/local/lib/nvidia-driver
bind_nvidia_driver() {
    local name path found=
    while read -r name path; do
        [[ $found ]] || { mkdir -p "$root$driver" && mount -t tmpfs -o mode=755 nvidia-driver "$root$driver" && found=1; }
        touch "$root$driver/$name"
        mount --bind -o ro "$(readlink -f "$path")" "$root$driver/$name"
    done < <(nvidia_libraries)
    if [[ $found ]]; then export LD_LIBRARY_PATH=$driver; fi
}

# Prints soname and path of what the driver offers to CUDA programs, for this processor, each name once.
nvidia_libraries() {
    ldconfig -p 2>/dev/null | sed -nE \
        's/^[[:space:]]*(lib(cuda|cudadebugger|nvidia-[a-z0-9-]+|nvcuvid)\.so\.[0-9.]+) \(.*x86-64.*\) => (.*)$/\1 \3/p' |
        sort -u -k 1,1
}

# A configuration file that is a link outside (resolv.conf often is) becomes the same link inside.
link_if_moved() {
    local real
    real=$(readlink -f "$1")
    [[ $real == "$1" ]] || ln -sfn "$real" "$root$1"
}

bind_if_lacking() {
    local path
    path=$(realpath -m -- "$1")
    belongs_to_system "$path" || return 0
    [[ -e $path ]] && is_placeholder "$root$path" || return 0
    bind "$path"
}

# What an earlier call bound something to is still there, empty.
is_placeholder() {
    if [[ -d $1 ]]; then [[ -z $(ls -A "$1") ]]; else [[ ! -s $1 ]]; fi
}

bind_top_level
bind_system
bind_if_lacking "$directory"
for argument; do
    case $argument in
        /*) bind_if_lacking "$argument" ;;
        -*) ;;
        */* | *.*) bind_if_lacking "$directory/$argument" ;;
    esac
done

# The caller's variables go along, but programs come from the root: PATH and library paths of the outside mean nothing.
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH PYTHONHOME VIRTUAL_ENV
bind_nvidia_driver
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
groups=$(id -G "$(id -nu "$uid" 2>/dev/null || echo root)" | tr ' ' ,)
if ((uid)); then
    user=(--userspec="$uid:$gid" --groups="$groups")
else
    user=()
fi
# shellcheck disable=SC2016 # expanded by the inner shell
exec chroot "${user[@]}" "$root" /bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$directory" "$@"
