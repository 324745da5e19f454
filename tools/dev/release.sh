# The first and every later release (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout, build…: ./dev's

cmd_release() { # VERSION
    [[ ${1:-} ]] || die "release takes the version: ./dev release 0.2.0"
    [[ -z $(git -C "$checkout" status --porcelain) ]] || die "there are changes that are not committed: a release is what is committed"
    ! git -C "$checkout" rev-parse --quiet --verify "refs/tags/v$1" >/dev/null || die "there is a release $1 already: the tag v$1"
    local notes=$build/package/NOTES.md
    mkdir -p "$build/package"
    python3 "$checkout/tools/dev/release.py" "$checkout" "$1" "$(date +%F)" "$notes" || exit 1
    git -C "$checkout" commit --quiet --all --message "release: $1"
    "$checkout/dev" package || {
        git -C "$checkout" reset --quiet --hard HEAD~
        die "nothing is released: the packages of $1 could not be made"
    }
    git -C "$checkout" tag --annotate "v$1" --file "$notes"
    cp "$notes" "$build/package/out/"
    step "released: the tag v$1, and $build/package/out; nothing was sent anywhere ('git push --follow-tags' does that)"
}
