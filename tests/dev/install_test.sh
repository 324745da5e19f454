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

# shellcheck source=tests/dev/tap.sh
. "$checkout/tests/dev/tap.sh"
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

is_interrupted() { ! (tar() { command tar "$@" && return 1; } && install_into "$profile"); }
check "a copy that breaks off is told" is_interrupted
install_into "$profile"
check "and does not stand in the way of the next" is_complete
uninstall_from "$profile"

# The effect: a module where GEGL looks, and its folder.
plug_ins=$folder/lib/gimp/3.0/plug-ins data=$folder/data
mkdir -p "$plug_ins" "$folder/lib/gegl-0.4" "$folder/lib/grainless" "$folder/catalogues/de" "$data"
echo module >"$folder/lib/gegl-0.4/grainless-effect.so"
echo helper >"$folder/lib/grainless/grainless-engine"
ln -s ../../catalogues "$folder/lib/grainless/locale"
echo words >"$folder/catalogues/de/words.mo"
effect=$data/gegl-0.4/plug-ins/grainless-effect.so
effect_is_complete() { diff "$folder/lib/gegl-0.4/grainless-effect.so" "$effect" >&2 && test -f "$data/grainless/locale/de/words.mo"; }
effect_is_refused() { ! (install_effect "$data"); }
no_effect() { ! uninstall_effect "$data"; }

install_effect "$data"
check "the effect is there, its links followed" effect_is_complete
install_effect "$data"
check "and after a second time" effect_is_complete
touch "$data/gegl-0.4/plug-ins/another.so"
uninstall_effect "$data"
check "uninstall leaves other modules, and nothing of ours" test "$(cd "$data" && find . -type f)" = ./gegl-0.4/plug-ins/another.so
echo other >"$effect"
check "a module that is not ours is refused" effect_is_refused
check "and not uninstalled" no_effect

# The user's own home is $HOME, as it is GIMP's and GEGL's, whatever the user database says.
homes() { HOME=$folder/home XDG_DATA_HOME='' XDG_CONFIG_HOME='' GIMP3_DIRECTORY=''; data_folder; profiles 3.0 | head -n 1; }
check "filter and effect go to one home" test "$(homes | tr '\n' ' ')" = "$folder/home/.local/share $folder/home/.config/GIMP/3.0 "
check "or where XDG_DATA_HOME says" test "$(XDG_DATA_HOME=/else; data_folder)" = /else

# What GIMP takes over from an older version it takes over into a folder that isn't there yet.
mkdir -p "$folder/programs"
cat >"$folder/programs/gimp-console-3.0" <<'GIMP'
#!/bin/sh
if [ "$1" = --version ]; then echo "GNU Image Manipulation Program version 3.0.4" && exit; fi
[ -e "$GIMP3_DIRECTORY" ] || { mkdir -p "$GIMP3_DIRECTORY" && echo older >"$GIMP3_DIRECTORY/brushes"; }
GIMP
chmod +x "$folder/programs/gimp-console-3.0"
mkdir "$plug_ins/grainless"
echo binary >"$plug_ins/grainless/grainless"
# What 'install' does, where there is nothing to build.
environment_kind() { echo native; }
ensure_native() { :; }
build() { :; }
install_in() { (PATH=$folder/programs:$PATH HOME=$folder/home GIMP3_DIRECTORY=$1 XDG_DATA_HOME=$folder/home/data cmd_install); }
install_in "$folder/new profile"
check "GIMP makes its own folder" test "$(cat "$folder/new profile/brushes")" = older
check "then the filter goes there" test -f "$folder/new profile/plug-ins/grainless/grainless"
rm -r "$folder/new profile/brushes"
install_in "$folder/new profile"
check "and a folder that is there is the user's" test ! -e "$folder/new profile/brushes"
# Without a GIMP on PATH.
uninstall_from_new() { (gimp_series() { return 1; } && GIMP3_DIRECTORY="$folder/new profile" XDG_DATA_HOME=$folder/home/data cmd_uninstall); }
uninstall_from_new
check "uninstall needs no GIMP" test "$(find "$folder/new profile" "$folder/home" -name '*grainless*' 2>/dev/null | wc -l)" = 0
sed -i '$d' "$folder/programs/gimp-console-3.0"
makes_none() { ! (install_in "$folder/none") && test ! -e "$folder/none"; }
check "a GIMP that makes none is named" makes_none
echo "1..$number"
