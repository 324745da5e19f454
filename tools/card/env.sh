# SPDX-License-Identifier: MIT
# Building what pack.sh packed (sourced, in bash): unpack_libraries once, then build_sources PACK DIRECTORY.
# shellcheck shell=bash
library=usr/lib/x86_64-linux-gnu
libraries=${LIBRARIES:-/tmp/grainless-libraries}

unpack_libraries() { # PACK
  mkdir -p "$libraries"
  tar -C "$libraries" -xf "$1/libraries.tar.xz"
  sed -i "s|^prefix=.*|prefix=$libraries/usr|" "$libraries/$library"/pkgconfig/*.pc
  sed -i "s|=/usr\$|=$libraries/usr|; s|-I/usr/include|-I$libraries/usr/include|" "$libraries"/usr/share/pkgconfig/*.pc
  export PKG_CONFIG_PATH=$libraries/$library/pkgconfig:$libraries/usr/share/pkgconfig
  export LD_LIBRARY_PATH=$libraries/$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export PATH=$PATH:/usr/local/cuda/bin
}

build_sources() { # PACK DIRECTORY [MESON_OPTION…]: sources in DIRECTORY, built in DIRECTORY/build
  local pack=$1 directory=$2
  shift 2
  mkdir -p "$directory"
  tar -C "$directory" -xf "$pack/src.tar.gz"
  [[ -f $directory/build/build.ninja ]] ||
    meson setup --buildtype=release -Dplugin=disabled -Dcuda=enabled -Dcuda-arch="${CUDA_ARCH:-90}" "$@" \
      "$directory/build" "$directory" >"$directory/setup.log" || { tail -30 "$directory/setup.log"; return 1; }
  ninja -C "$directory/build" >"$directory/build.log" || { grep -A5 -E 'FAILED|error' "$directory/build.log" | head -40; return 1; }
}
