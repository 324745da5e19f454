# What machines keep of the style (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # build and meson_dir are build.sh's

# A version of its own choice could find more tomorrow than today.
ruff_version=0.17.6

# Debian has no ruff. Where PyPI is out of reach, too, the test that wants it says so and is skipped.
prepare_ruff() {
    local environment=$build/check/python
    if [[ ! -e $environment/has-$ruff_version ]]; then
        step "installing ruff $ruff_version from PyPI into $environment"
        mkdir -p "$build/check"
        if ! { python3 -m venv --clear "$environment" &&
            "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
                "ruff==$ruff_version" && touch "$environment/has-$ruff_version"; } >&2; then
            step "ruff could not be installed (is PyPI reachable?): its test is skipped"
            return
        fi
    fi
    export GRAINLESS_RUFF=$environment/bin/ruff
}

check() { # [--all] [ARGUMENT of meson test…]
    if [[ ${1:-} == --all ]]; then
        export GRAINLESS_CHECK=all
        shift
    fi
    configure
    prepare_ruff
    rm -f "$meson_dir"/meson-logs/testlog*
    step "checking"
    meson test -C "$meson_dir" --no-rebuild --print-errorlogs --suite check "$@"
}
