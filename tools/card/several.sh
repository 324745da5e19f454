#!/bin/bash
# SPDX-License-Identifier: MIT
# On a computer with several cards, after env.sh's build_sources PACK /tmp/main: one picture on 1, 2, 4… of them has to give
# the same bits. usage: several.sh PACK OUT [WIDTHxHEIGHT]     12000x8000 (96 megapixels) without a size
set -u
pack=$(realpath "$1") out=$(realpath "$2")
IFS=x read -r width height <<<"${3:-12000x8000}"
# shellcheck source=tools/card/env.sh
. "$pack/env.sh"
unpack_libraries "$pack"
[[ -x /tmp/main/build/tools/grainless ]] || build_sources "$pack" /tmp/main || exit 1
export GRAINLESS_MODULE_DIR=/tmp/main/build/cuda
work=$(mktemp -d)
cards=$(nvidia-smi -L | wc -l)
sets=(cuda:0)
for ((n = 2; n <= cards; n *= 2)); do sets+=("cuda:$(seq -s, 0 $((n - 1)))"); done

python3 - "$work/in.ppm" "$width" "$height" <<'PYTHON'
import sys
import numpy as np
width, height = int(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(1)
with open(sys.argv[1], "wb") as file:
    file.write(b"P6\n%d %d\n255\n" % (width, height))
    x = np.arange(width, dtype=np.float32)
    for y in range(0, height, 500):
        rows = np.arange(y, min(y + 500, height), dtype=np.float32)[:, None]
        base = 128 + 50 * np.sin(x / 37) * np.cos(rows / 29)
        picture = np.stack([base, base * 0.9 + 10, 250 - base], axis=-1)
        picture += 15 * random.standard_normal(picture.shape, dtype=np.float32)
        file.write(np.clip(np.rint(picture), 0, 255).astype(np.uint8).tobytes())
PYTHON

for method in ${METHODS:-bm3d nlm sw-nlm}; do
  extra=()
  [[ $method != sw-nlm ]] || extra=(--search 9)
  for set in "${sets[@]}"; do
    grainless() { /tmp/main/build/tools/grainless "$@"; }
    grainless --method "$method" --sigma 15 "${extra[@]}" --device "$set" --json "$work/in.ppm" -o "$work/out.ppm" \
      >"$work/report.json" 2>"$work/error" || { echo "$method $set failed: $(cat "$work/error")"; continue; }
    sum=$(sha256sum <"$work/out.ppm")
    [[ $set == cuda:0 ]] && first=$sum
    same="the same bits"
    [[ $sum == "$first" ]] || same="OTHER BITS"
    echo "$method $set: $same; $(python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); print(r["device"], r.get("tiles"), "tiles", r["seconds"], r.get("fallback"))' "$work/report.json")"
  done
done | tee "$out/several.txt"
rm -rf "$work"
exit "$(grep -cE 'OTHER BITS|failed' "$out/several.txt")"
