# Configuring, compiling and staging (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout is ./dev's

build=$checkout/build${GRAINLESS_GIMP:+/gimp-$GRAINLESS_GIMP}
meson_dir=$build/meson
stage=$build/stage
# GIMP's folder inside the stage; pkg-config knows it only where the GIMP development files are.
plug_ins=$stage$(pkg-config --variable=gimplibdir gimp-3.0 2>/dev/null || true)/plug-ins

# Code for every card that a release serves takes nvcc many minutes; a build for this computer needs that of its own
# cards. Without a card tests compile it all the same, for the oldest, from which a driver translates for any later one.
# nvidia-smi is outside the Debian 13 root only: what it says is handed in.
card_architectures() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -dc '0-9\n' | sort -u | paste -sd, || true
}
export GRAINLESS_CARDS=${GRAINLESS_CARDS-$(card_architectures)}
export GRAINLESS_CUDA_ARCH=${GRAINLESS_CUDA_ARCH:-${GRAINLESS_CARDS:-75}}
# Steps done and all, and the time that the others take.
export NINJA_STATUS=${NINJA_STATUS:-'[%f/%t, %W left] '}

# nvcc is not on anybody's PATH by itself.
use_cuda_toolkit() {
    if [[ -x /usr/local/cuda/bin/nvcc ]]; then PATH=$PATH:/usr/local/cuda/bin; fi
}

# Prints the options of a build of the 'engine', of the 'plug-in', of 'gimp-tests' or of 'all'. They share their folder: what
# the demo has compiled is there for the tests.
build_options() {
    local complete=false cuda=auto
    # What no package manager of ours has installed may be missing: a test that needs it says so.
    if command -v apt-get >/dev/null; then complete=true; fi
    if [[ $1 == all ]]; then
        echo "-Dplugin=enabled -Dcomplete=$complete -Dtests=enabled -Dtools=enabled -Dpython=enabled -Dcuda=auto -Dwerror=true"
    elif [[ $1 == gimp-tests ]]; then
        echo "-Dplugin=enabled -Dcomplete=false -Dtests=enabled -Dtools=enabled -Dpython=disabled -Dcuda=disabled -Dwerror=false"
    elif [[ $1 == engine ]]; then
        echo "-Dplugin=disabled -Dcomplete=false -Dtests=disabled -Dtools=disabled -Dpython=disabled -Dcuda=disabled -Dwerror=true"
    else
        if [[ ! $GRAINLESS_CARDS ]]; then cuda=disabled; fi
        echo "-Dplugin=enabled -Dcomplete=false -Dtests=disabled -Dtools=disabled -Dpython=disabled -Dcuda=$cuda -Dwerror=true"
    fi
}

# A folder that was built in one Debian root and is used from another finds neither its packages nor its compiler.
leave_other_root() {
    local mark=$meson_dir/grainless-root here
    [[ ${GRAINLESS_INSIDE:-} ]] || return 0
    here=$(stat -c %i /)
    if [[ -f $mark && $(<"$mark") != "$here" ]]; then
        step "what $meson_dir holds was built in another Debian root: building it anew"
        rm -rf -- "${meson_dir:?}"
        mkdir -p "$meson_dir"
    fi
    echo "$here" >"$mark"
}

configure() { # [PARTS]
    use_cuda_toolkit
    [[ -f $checkout/meson.build ]] || die "there is no meson.build in $checkout: nothing to build"
    { mkdir -p "$meson_dir" && [[ -w $meson_dir ]]; } 2>/dev/null ||
        die "$meson_dir can't be written to, and all that is built goes there: clone the project where you may write"
    leave_other_root
    local mark=$meson_dir/grainless-parts parts=${1:-all} before=
    local -a options
    read -ra options < <(build_options "$parts")
    if [[ -f $meson_dir/build.ninja ]]; then before=$(cat "$mark" 2>/dev/null || echo all); fi
    # What has everything has each part; a new option makes it anew.
    if [[ $before == "$parts ${options[*]}" || ($before == "all "* && $parts != all) ]]; then return; fi
    step "configuring $meson_dir"
    # A warning stops our builds only: a packager's compiler may know others.
    meson setup ${before:+--reconfigure} --prefix=/usr --buildtype=release \
        -Dcuda-arch="$GRAINLESS_CUDA_ARCH" "${options[@]}" "$meson_dir" "$checkout" >&2 ||
        die "meson could not configure the build: $meson_dir/meson-logs/meson-log.txt names the reason"
    echo "$parts ${options[*]}" >"$mark"
}

compile() { # [plug-in]
    configure "$@"
    step "compiling"
    ninja -C "$meson_dir" >&2 || die "the build failed: the compiler's messages above name the reason"
}

# What needs no GIMP.
compile_engine() {
    configure engine
    ninja -C "$meson_dir" engine/libgrainless-engine.a
}

# The stage is the installed tree under build/: GIMP and the tools find each file where a package would put it.
build() { # [plug-in]
    compile "$@"
    step "installing into $stage"
    # Meson complains of links that are there already.
    rm -f "$stage"/usr/lib/*/grainless/{grainless-cuda.so,locale}
    meson install -C "$meson_dir" --no-rebuild --only-changed --quiet --destdir "$stage" >&2 ||
        die "the built files could not be laid out in $stage"
}

# What the suites gimp and gui run, and what is installed for them, as Meson knows it: one output a line.
gimp_test_outputs() {
    meson introspect --targets --tests "$meson_dir" | python3 -c '
import json, os, sys
known = json.load(sys.stdin)
needed = {name for test in known["tests"] for name in test["depends"]
          if any(suite.split(":")[-1] in ("gimp", "gui") for suite in test["suite"])}
for target in known["targets"]:
    if target["installed"] or target["id"] in needed:
        print(*(os.path.relpath(name, sys.argv[1]) for name in target["filename"]), sep="\n")' "$meson_dir"
}

# Of everything what these suites need.
build_gimp_tests() {
    configure gimp-tests
    step "compiling"
    local outputs
    mapfile -t outputs < <(gimp_test_outputs)
    ((${#outputs[@]})) || die "meson does not tell what the tests need"
    ninja -C "$meson_dir" "${outputs[@]}" >&2 || die "the build failed: the compiler's messages above name the reason"
}

# Tests that are held to a time run alone, and look at windows for the most part: clang's check takes what they leave of
# the processors, and the test 'clang', the last one, waits for it.
begin_clang_checks() {
    local clang_tidy folder=$build/check/clang
    clang_tidy=$(command -v clang-tidy-19) || return 0
    mkdir -p "$folder"
    rm -f "$folder/status"
    # shellcheck disable=SC2016 # for the shell that it begins
    setsid bash -c '"${@:2}" >"$1/found" 2>&1; echo $? >"$1/new-status"; mv "$1/new-status" "$1/status"' clang-ahead \
        "$folder" python3 "$checkout/tools/dev/clang_checks.py" "$checkout" "$meson_dir" "$clang_tidy" </dev/null &
    echo $! >"$folder/process"
    # That they have ended is no failure: pkill's status would be that of ./dev.
    # shellcheck disable=SC2064 # now
    trap "pkill --session $! 2>/dev/null || true" EXIT
    export GRAINLESS_CLANG_AHEAD=$folder
}

# Results of an earlier run must not stand in for those of a program that crashes before it writes any. One test more at
# once than there are processors: those that look at windows wait for much of their time.
run_tests() {
    use_built_tools
    rm -f "$meson_dir"/*.xml "$meson_dir"/meson-logs/testlog*
    (($#)) || begin_clang_checks
    step "testing"
    GRAINLESS_PLUGIN_DIR=$plug_ins GRAINLESS_SOURCE_DIR=$checkout \
        meson test -C "$meson_dir" --no-rebuild --print-errorlogs --num-processes "$(($(nproc) + 1))" "$@"
}

# The peers come from PyPI, into an environment of their own.
prepare_peers() {
    prepare_python "$build/bench/python" opencv-python-headless bm3d
}

# Demosaicing for simulated cameras. Without what it asks for beside: SciPy is the system's.
prepare_camera() {
    prepare_python "$build/quality/python" --no-deps colour-demosaicing colour-science typing_extensions
}

# Packages of PyPI in an environment of their own; peers_python becomes its Python.
prepare_python() {
    local environment=$1
    shift
    peers_python=$environment/bin/python
    [[ ! -e $environment/complete ]] || return 0
    step "installing $* from PyPI into $environment"
    mkdir -p "${environment%/*}"
    python3 -m venv --clear --system-site-packages "$environment" ||
        die "python3 could not make a virtual environment in $environment"
    "$peers_python" -m pip install --quiet "$@" >&2 || die "pip could not install $*: is PyPI reachable?"
    touch "$environment/complete"
}

use_built_tools() {
    use_cuda_toolkit
    if [[ ! -d $stage && ! ${GRAINLESS_GIMP:-} ]]; then step "nothing is built yet: './dev build' does that"; fi
    export PATH=$stage/usr/bin:$meson_dir/tools:$PATH
    export GRAINLESS_MODULE_DIR=$plug_ins/grainless
}
