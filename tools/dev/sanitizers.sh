# The same tests under the compiler's sanitizers, and the fuzz targets (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # checkout and build are ./dev's

asan_dir=$build/asan
tsan_dir=$build/tsan

# Line numbers are all of the debugging information that a report needs.
configure_sanitizer() { # DIRECTORY SANITIZERS OPTION…
    local directory=$1 sanitizers=$2 cache=()
    shift 2
    [[ ! -f $directory/build.ninja ]] || return 0
    step "configuring $directory"
    if command -v ccache >/dev/null; then cache=(ccache); fi
    CC="${cache[*]} clang-19" CXX="${cache[*]} clang++-19" CXXFLAGS=-gline-tables-only \
        meson setup -Dplugin=disabled -Dcuda=disabled -Dcomplete=true -Doptimization=1 -Ddebug=false -Db_ndebug=false \
        -Db_lundef=false -Db_sanitize="$sanitizers" "$@" "$directory" "$checkout" >&2 ||
        die "meson could not configure the build: $directory/meson-logs/meson-log.txt names the reason"
}

compile_sanitizer() { # DIRECTORY TARGET…
    step "compiling $1"
    ninja -C "$@" >&2 || die "the build failed: the compiler's messages above name the reason"
}

# One folder for the fuzz targets and the tests under ASan and UBSan, so that the engine is compiled once for both.
configure_asan() { configure_sanitizer "$asan_dir" address,undefined -Dfuzz=enabled; }

test_sanitizer() { # DIRECTORY FILTER TEST…
    local directory=$1 filter=$2
    shift 2
    rm -f "$directory"/*.xml "$directory"/meson-logs/testlog*
    step "testing in $directory"
    GTEST_FILTER=$filter GRAINLESS_SWEEP_DRAWS=30 \
        meson test -C "$directory" --no-rebuild --print-errorlogs --timeout-multiplier 8 "$@"
}

# How long something takes says nothing here.
not_timed='-*CancelIsAnswered*:*Soon*:*TakeLittleTime*'
# What works on several threads at once.
threaded='ThreadPool*:Preview*:Flow*:*Fallback*:TileScheduler*:*TheSameBits*Bm3dFast*:*TheSameBits*NlmColour*:*TheSameBits*Small*'

# What CI has time for: every fuzz target for half a minute, the unit tests without those that compute for long (noise of
# large pictures, every way from a card to the processor), and of what works on several threads one test of each kind.
slow='NoiseEstimate*:NoiseCurve*:AreaNoise*:Survey*:LargeImage*:*SwNlmPlan*:*Fallback*:*EvenNoiseIsNotBent:*MakesTheResultBetter'
slow+=':*FollowsTheNoiseOfACamera:*TheResultIsNearlyThatWithoutThem:*NothingIsLedBackWithoutClippedNoise:ToneStrength*'
slow+=':Corners.Noise*:Corners.Coarse*:Corners.Even*:Corners.Results*:Corners.AP*:Corners.TheyAreTold*'
slow+=':StillNoise.OfTonesIsWhat*:StillNoise.OfOnePictureIs*:StillNoise.IsWhatTheWeakest*:StillNoise.OfLayersThatDrift*'
slow+=':Impulse.Automatic*:BlackLift.IsWhat*:BlackLift.Details*:BlackLift.IsMonotone*'
threaded_quick='ThreadPool*:Preview*:Flow*:TileScheduler*:*AFailureInMid*:*SeveralCardsShare*:*OneCardOrSeveral*:*Prepared*'

sanitize_quickly() { # [--compile]
    local status=0
    configure_asan
    compile_sanitizer "$asan_dir" fuzz-programs fake-modules tests/unit/unit-tests
    configure_sanitizer "$tsan_dir" thread
    compile_sanitizer "$tsan_dir" fake-modules tests/unit/unit-tests
    [[ ${1:-} != --compile ]] || return 0
    test_sanitizer "$asan_dir" "$not_timed:$slow" unit fuzz || status=$?
    test_sanitizer "$tsan_dir" "$threaded_quick:$not_timed" unit || status=$?
    return "$status"
}

sanitize() { # [--quick [--compile]]
    local status=0
    if [[ ${1:-} == --quick ]]; then
        sanitize_quickly "${@:2}"
        return
    fi
    configure_asan
    compile_sanitizer "$asan_dir" fuzz-programs fake-modules tools/grainless tools/grainless-bench \
        tests/{unit/unit-tests,tools/tool-tests,contract/contract-tests,property/sweep/sweep-tests} \
        tests/property/{,beyond_white-,bm3d-,dct-,nlm-,nlm_volume-,stack-,sw_nlm-}property-tests
    test_sanitizer "$asan_dir" "$not_timed" unit tools 'contract cpu' property beyond_white bm3d \
        dct nlm nlm_volume stack sw_nlm sweep 'command line' fuzz || status=$?
    configure_sanitizer "$tsan_dir" thread
    compile_sanitizer "$tsan_dir" fake-modules tests/{unit/unit-tests,contract/contract-tests}
    test_sanitizer "$tsan_dir" "$threaded:$not_timed" unit 'contract cpu' || status=$?
    return "$status"
}

fuzz() { # [TARGET] [SECONDS]
    local targets=() seconds=30
    if [[ ${1:-} =~ ^[0-9]+$ ]]; then set -- "" "$1"; fi
    if [[ ${1:-} ]]; then targets=("$1"); fi
    seconds=${2:-$seconds}
    configure_asan
    compile_sanitizer "$asan_dir" fuzz-programs
    step "fuzzing; what is found goes to $build/fuzz/found"
    FUZZ_PROGRAMS=$asan_dir/tests/fuzz "$checkout/tests/fuzz/run-all.sh" "$build/fuzz" "$seconds" "$(nproc)" "${targets[@]}"
}
