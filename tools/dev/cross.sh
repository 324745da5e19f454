# The engine, the command line and their tests for another processor (sourced, never run).
# shellcheck shell=bash
# shellcheck disable=SC2154 # build is build.sh's

# What the compiler is called, and what runs its programs here.
cross_file() { # TARGET FOLDER
    local prefix runner system=linux processor=$1 compiler='' arguments='' link=''
    case $1 in
        aarch64) prefix=aarch64-linux-gnu runner='qemu-aarch64 -L /usr/aarch64-linux-gnu' ;;
        windows)
            prefix=x86_64-w64-mingw32 runner=$checkout/tools/dev/wine.sh system=windows processor=x86_64 compiler=-posix
            # GCC does not align what it keeps on Windows' stack as AVX wants it (GCC's bug 54412).
            arguments=", '-Wa,-muse-unaligned-vector-move'"
            # The libraries of GCC lie nowhere that Windows or Wine would look.
            link="cpp_link_args = ['-static']"
            ;;
        *) die "--cross takes aarch64 or windows, not '$1'" ;;
    esac
    # Headers alone are the same for each system.
    mkdir -p "$2/include"
    ln -sfn /usr/include/CLI /usr/include/nlohmann "$2/include/"
    cat <<TEXT
[binaries]
c = '$prefix-gcc$compiler'
cpp = ['ccache', '$prefix-g++$compiler']
ar = '$prefix-ar'
strip = '$prefix-strip'
pkg-config = 'false'
exe_wrapper = ['${runner// /"', '"}']
[properties]
runner = '$runner'
[built-in options]
cpp_args = ['-isystem', '$2/include'$arguments]
$link
[host_machine]
system = '$system'
cpu_family = '$processor'
cpu = '$processor'
endian = 'little'
TEXT
}

# Without the libraries of PNG, JPEG and TIFF files, which would have to be there for that processor: pictures are PNM.
test_cross() { # TARGET [--compile [TARGET of ninja…] | ARGUMENT of meson test…]
    local target=${1:-} folder=$build/cross-${1:-}
    shift
    mkdir -p "$folder"
    cross_file "$target" "$folder" >"$folder/cross.ini"
    if [[ ! -f $folder/meson/build.ninja ]]; then
        step "configuring $folder/meson"
        meson setup --cross-file "$folder/cross.ini" --buildtype=release -Dplugin=disabled -Dcuda=disabled -Dwerror=true \
            "$folder/meson" "$checkout" >&2 || die "meson could not configure the build for $target"
    fi
    if [[ ${1:-} == --compile ]]; then
        step "compiling for $target"
        ninja -C "$folder/meson" "${@:2}" >&2 || die "the build failed: the compiler's messages above name the reason"
        return
    fi
    if ((!$#)); then set -- --suite unit --suite contract; fi
    if [[ $target == windows ]]; then
        "$checkout/tools/dev/wine.sh" --stay || die "Wine did not start: its folder is $folder/wine"
    fi
    # Meson builds what the chosen tests need.
    step "compiling for $target, and testing"
    meson test -C "$folder/meson" --print-errorlogs --timeout-multiplier 10 "$@"
}
