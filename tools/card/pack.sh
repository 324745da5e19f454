#!/bin/bash
# SPDX-License-Identifier: MIT
# Packs what a computer with an NVIDIA card, CUDA, meson and GoogleTest, but without a network, needs to build and prove
# the engine: pack.sh OUT [CHECKOUT]. In OUT: the sources (of CHECKOUT's last commit; this one's without it), the libraries'
# headers from the Debian 13 root, and the scripts beside this one. There: 'prove.sh', 'several.sh'.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
out=$1 checkout=$(realpath "${2:-$here/../..}")
root=${GRAINLESS_ROOT:-$checkout/build/debian13}
library=usr/lib/x86_64-linux-gnu

[[ -d $root/usr/include/hwy ]] || { echo "there is no Debian 13 root in $root: './dev setup' makes it" >&2; exit 1; }
mkdir -p "$out"
git -C "$checkout" archive --format=tar.gz -o "$(realpath "$out")/src.tar.gz" HEAD
tar -C "$root" -cJf "$out/libraries.tar.xz" \
  usr/include/{hwy,CLI,nlohmann,kissfft} "$library"/libhwy.so{,.1,.1.2.0} \
  "$library"/pkgconfig/{libhwy,kissfft-float}.pc usr/share/pkgconfig/{CLI11,nlohmann_json}.pc
cp "$here"/{env,prove,several}.sh "$out"
du -sh "$out"
