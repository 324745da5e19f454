#!/bin/bash
# SPDX-License-Identifier: MIT
# What ./dev refuses before it does anything, tried in a copy that has nothing to build; prints TAP.
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/../..")

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
mkdir -p "$folder/tools" "$folder/build"
cp "$checkout/dev" "$folder/"
cp -R "$checkout/tools/dev" "$folder/tools/"
touch "$folder/build/of earlier hours"

# shellcheck source=tests/dev/tap.sh
. "$checkout/tests/dev/tap.sh"
# True when the command fails, and gives this reason alone.
refuses() { # REASON ARGUMENT…
    local reason=$1 said
    shift
    if said=$(env -u DISPLAY -u WAYLAND_DISPLAY HOME="$folder/home" "$folder/dev" "$@" 2>&1 </dev/null); then return 1; fi
    [[ $said == "dev: $reason"* && $said != *$'\n'* ]] || { echo "$said" >&2 && return 1; }
}

# The commands are the functions cmd_NAME.
every_command_is_listed() {
    local command listed
    listed=$("$folder/dev" --help)
    while read -r command; do
        [[ $command == help || $listed == *$'\n'"  $command "* ]] || { echo "'$command' is missing" >&2 && return 1; }
    done < <(grep -hoP '^cmd_\K[a-z]+' "$folder/dev" "$folder"/tools/dev/*.sh)
}
check "help lists every command" every_command_is_listed
check "clean --help is a question" refuses "clean takes no arguments, not '--help'" clean --help
check "and deletes nothing" test -e "$folder/build/of earlier hours"
check "install has no other place" refuses "install takes no arguments" install /opt/gimp
check "nor has uninstall" refuses "uninstall takes no arguments" uninstall 3.0
check "gimp without a display" refuses "gimp needs a display" gimp
check "package knows its parts" refuses "package has the parts" package tarball deb
check "an unknown command" refuses "unknown command 'instal'" instal
"$folder/dev" clean 2>"$folder/messages"
check "clean deletes" test ! -e "$folder/build"

# What can't be done is said in a sentence.
says() { # REASON CODE: of ./dev's parts, as a user who is not root and has no sudo
    local reason=$1 said user=()
    ((EUID)) || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    ! said=$("${user[@]}" env PATH="$search" "$(command -v bash)" -c "set -eu
        checkout='$folder' EPOCHSECONDS=0 GRAINLESS_CARDS=
        $(<"$checkout/tools/dev/common.sh")
        $(<"$checkout/tools/dev/build.sh")
        $2" 2>&1) || return 1
    [[ $said == "dev: $reason"* && $said != *$'\n'* ]] || { echo "$said" >&2 && return 1; }
}
search=/usr/lib/none
check "without root's rights the program is named" says "root rights are needed to run 'enter-root.sh'" \
    "as_root --preserve-env enter-root.sh --here"
check "exec names the program that is missing" says "there is no program 'grainless-none'" \
    "$(sed -n '/^cmd_exec() {/,/^}/p' "$checkout/dev"); use_built_tools() { :; }; cmd_exec grainless-none"
touch "$folder/meson.build"
chmod 555 "$folder"
search=$PATH
check "a checkout that can't be written to is named" says "$folder/build/meson can't be written to" "configure engine"
chmod 755 "$folder"
# A build of another root is made anew, one of the same is kept.
configured_in() { # ROOT'S NUMBER
    mkdir -p "$folder/build/meson"
    echo "$1" >"$folder/build/meson/grainless-root"
    touch "$folder/build/meson/built earlier"
    GRAINLESS_INSIDE=yes PATH=$folder/programs:$PATH bash -c "set -eu
        checkout='$folder' EPOCHSECONDS=0 GRAINLESS_CARDS=
        $(<"$checkout/tools/dev/common.sh")
        $(<"$checkout/tools/dev/build.sh")
        configure engine" 2>/dev/null
    test -e "$folder/build/meson/built earlier"
}
mkdir "$folder/programs"
printf '#!/bin/sh\n' >"$folder/programs/meson"
chmod +x "$folder/programs/meson"
check "a build of this root is kept" configured_in "$(stat -c %i /)"
check "that of another one is not" eval '! configured_in 1'

# What the tests end with is what ./dev ends with, also when clang's checks beside them have ended long ago.
tests_end_with() { # STATUS OF THEM
    local ended=0
    printf '#!/bin/sh\nwhile ! [ -e "%s/build/check/clang/status" ]; do sleep 0.01; done\nsleep 0.2\nexit %s\n' \
        "$folder" "$1" >"$folder/programs/meson"
    PATH=$folder/programs:$PATH bash -c "set -euo pipefail
        checkout='$folder' EPOCHSECONDS=0 GRAINLESS_CARDS=
        $(<"$checkout/tools/dev/common.sh")
        $(<"$checkout/tools/dev/build.sh")
        run_tests" &>/dev/null || ended=$?
    [[ $ended == "$1" ]] || { echo "./dev ended with $ended" >&2 && return 1; }
}
printf '#!/bin/sh\n' >"$folder/programs/clang-tidy-19"
chmod +x "$folder/programs/clang-tidy-19"
check "tests that pass end with 0" tests_end_with 0
check "tests that fail don't" tests_end_with 1
echo "1..$number"
