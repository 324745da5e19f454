#!/bin/bash
# SPDX-License-Identifier: MIT
# What docs/performance.md says of a graphics card, as JSON: page.sh > tools/bench/results/card-NAME.json, with grainless-bench on
# PATH (or in $GRAINLESS_BENCH). 24 megapixels RGB by each method.
set -euo pipefail
bench=${GRAINLESS_BENCH:-grainless-bench}
options=(--suite one --device "${DEVICE:-cuda:0}" --size 6000x4000 --channels 3 --repeat 7 --json)

run() { # OPTION…
  "$bench" "${options[@]}" "$@"
}

runs=()
for work in "bm3d fast" "bm3d normal" "bm3d high" "nlm normal" "dct normal"; do
  read -r method quality <<<"$work"
  runs+=("$(run --component u8 --method "$method" --quality "$quality")")
done
runs+=("$(run --component float --method bm3d --quality normal)")
name=$(sed -n 's/.*"device_description":"\([^"]*\)".*/\1/p' <<<"${runs[0]}")
grep -q '"device":"cuda' <<<"${runs[0]}" || {
  echo "page.sh: no card did the work" >&2
  exit 1
}
machine="$(nproc) processor cores"
version=$("$bench" --version) # "grainless 0.1.0", and the module's in a second line
version=${version%%$'\n'*}
printf '{"name": "an %s", "date": "%s", "machine": "%s, %s", "version": "%s", "command": "tools/card/page.sh", "runs": [\n' \
  "$name" "$(date +%F)" "$name" "$machine" "Grainless ${version#* }"
printf '%s' "${runs[0]}"
printf ',\n%s' "${runs[@]:1}"
printf '\n]}\n'
