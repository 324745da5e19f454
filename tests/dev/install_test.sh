#!/bin/bash
# SPDX-License-Identifier: MIT
# './dev install' and 'uninstall' on a made-up plug-in and profile; prints TAP.
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tools/dev/common.sh
. "$checkout/tools/dev/common.sh"
# shellcheck source=tools/dev/install.sh
. "$checkout/tools/dev/install.sh"

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
plug_ins=$folder/stage profile=$folder/profile
installed=$profile/plug-ins/grainless
mkdir -p "$plug_ins/grainless/locale/de" "$profile/plug-ins/another"
echo binary >"$plug_ins/grainless/grainless"
echo words >"$plug_ins/grainless/locale/de/words.mo"

number=0
check() { # WHAT COMMAND…
    local what=$1 result=ok
    shift
    "$@" || result='not ok'
    echo "$result $((++number)) - $what"
}
is_complete() { diff -r --exclude="$installed_list" "$plug_ins/grainless" "$installed" >&2; }
is_refused() { ! (install_into "$profile"); }
has_nothing() { ! uninstall_from "$profile"; }

install_into "$profile"
check "every file is there" is_complete
rm -r "$plug_ins/grainless/locale"
install_into "$profile"
check "a later install leaves no file of an earlier one" test ! -e "$installed/locale"
touch "$installed/notes of the user"
uninstall_from "$profile"
check "uninstall leaves the user's file alone" test "$(ls -A "$installed")" = "notes of the user"
check "a folder that is not ours is refused" is_refused
rm -r "$installed"
install_into "$profile"
uninstall_from "$profile"
check "uninstall leaves other plug-ins, and nothing of ours" test "$(ls -A "$profile/plug-ins")" = another
check "there is nothing left to uninstall" has_nothing
echo "1..$number"
