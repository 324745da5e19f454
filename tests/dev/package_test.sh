#!/bin/bash
# SPDX-License-Identifier: MIT
# The source tarball that './dev package' makes of a made-up project: the same commit, the same bytes; prints TAP.
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/../..")
if ! command -v git >/dev/null || ! command -v xz >/dev/null; then
    echo "1..0 # SKIP git or xz is not installed"
    exit
fi

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.example
mkdir -p "$folder/first/sources"
git -C "$folder/first" init --quiet
echo "  version: '1.2.3'," >"$folder/first/meson.build"
echo text >"$folder/first/sources/ä file"
echo script >"$folder/first/dev"
chmod 755 "$folder/first/dev"
git -C "$folder/first" add .
GIT_AUTHOR_DATE='2026-01-02T03:04:05Z' GIT_COMMITTER_DATE='2026-01-02T03:04:05Z' git -C "$folder/first" commit --quiet --message one
(umask 077 && git clone --quiet "$folder/first" "$folder/second place")
# Neither committed nor known to git.
echo changed >>"$folder/first/dev"
echo new >"$folder/first/untracked"

# shellcheck source=tests/dev/tap.sh
. "$checkout/tests/dev/tap.sh"
tarball=package/out/grainless-1.2.3.tar.xz
in_package() { # CHECKOUT UMASK BUILD COMMAND…
    # shellcheck disable=SC2016 # expanded by the inner shell
    bash -c 'set -euo pipefail; umask "$3"; checkout=$2 build=$4; . "$1/common.sh"; . "$1/package.sh"; "${@:5}"' \
        package "$checkout/tools/dev" "$@" 2>"$folder/messages"
}
package() { in_package "$@" cmd_package tarball; }
listed() { tar -tvf "$folder/a/$tarball" | awk '{ print $1, $2 }' | sort -u | tr '\n' ' '; }
refuses_no_clone() {
    rm -rf -- "$folder/second place/.git"
    ! package "$folder/second place" 022 "$folder/c" && grep -q 'is not a clone' "$folder/messages"
}

package "$folder/first" 022 "$folder/a"
sleep 1.1
package "$folder/second place" 077 "$folder/b"
check "the same bytes, whenever, wherever and by whomever" cmp "$folder/a/$tarball" "$folder/b/$tarball"
check "everybody may read, nobody but the owner may write" test "$(listed)" = "-rw-r--r-- 0/0 -rwxr-xr-x 0/0 drwxr-xr-x 0/0 "
check "what is committed, no more" test "$(tar -tf "$folder/a/$tarball" | wc -l) $(tar -xOf "$folder/a/$tarball" grainless-1.2.3/dev)" = "5 script"
check "the sum is right" sh -c "cd '$folder/b/package/out' && sha256sum --quiet -c SHA256SUMS"
# As the portable archive is: of files that have just been built.
for time in 1 2; do
    mkdir -p "$folder/$time/built" "$folder/$time/package/out"
    (umask "07$time" && touch -d "@$time" "$folder/$time/built/"{z,a,m})
    SOURCE_DATE_EPOCH=3 in_package - 022 "$folder/$time" pack "$folder/$time" built
done
check "the time of a build and its umask are not seen" cmp "$folder"/{1,2}/package/out/built.tar.xz
check "a folder that is no clone is refused" refuses_no_clone
echo "1..$number"
