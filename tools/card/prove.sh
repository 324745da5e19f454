#!/bin/bash
# SPDX-License-Identifier: MIT
# On a computer with a card: builds what pack.sh packed and runs every test that needs the card, then the speed tables.
# usage: prove.sh PACK OUT     logs in OUT, one line a step on stdout; the status says whether all tests passed
# ARCHS="75 80 86 89": the modules of these architectures, too, each alone; the driver compiles their PTX.
set -u
pack=$(realpath "$1") out=$(realpath "$2")
# shellcheck source=tools/card/env.sh
. "$pack/env.sh"
status=0
step() { # NAME COMMAND…
  local name=$1 start=$SECONDS
  shift
  "$@" >"$out/$name.log" 2>&1
  local result=$?
  ((result == 0)) || status=1
  echo "$name: status $result, $((SECONDS - start)) s; $(grep -hE 'PASSED|FAILED|tests? ran' "$out/$name.log" | tail -n 3 | tr '\n' ' ')"
  return $result
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
unpack_libraries "$pack"
step build build_sources "$pack" /tmp/main || exit 1
tests=/tmp/main/build/tests
# The build that can be made to fail goes on beside the tests, which are not timed.
if [[ ${FAULTS:-yes} == yes ]]; then
  (build_sources "$pack" /tmp/faults -Dcuda-faults=true >"$out/faults-build.log" 2>&1) &
fi
module=/tmp/main/build/cuda
step contract "$tests/contract/contract-tests" cuda "$module"
step module "$tests/cuda/cuda-module-tests" "$module/grainless-cuda.so"
step bm3d "$tests/cuda/cuda-bm3d-tests"
step loader "$tests/cuda/cuda-loader-tests" "$module/grainless-cuda.so"
if [[ ${FAULTS:-yes} == yes ]]; then
  step faults-built wait $!
  step faults "/tmp/faults/build/tests/cuda/cuda-faults-tests" /tmp/faults/build/cuda
  step faults-loader "/tmp/faults/build/tests/cuda/cuda-loader-tests" /tmp/faults/build/cuda/grainless-cuda.so
fi
# shellcheck disable=SC2317 # called by step
build_module() { # ARCHITECTURE
  local directory=/tmp/sm_$1
  mkdir -p "$directory"
  tar -C "$directory" -xf "$pack/src.tar.gz"
  meson setup --buildtype=release -Dplugin=disabled -Dcuda=enabled -Dcuda-arch="$1" "$directory/build" "$directory" &&
    ninja -C "$directory/build" cuda/grainless-cuda.so
}
for arch in ${ARCHS:-}; do
  step "build-$arch" build_module "$arch" || continue
  step "contract-$arch" "$tests/contract/contract-tests" cuda "/tmp/sm_$arch/build/cuda"
  step "bench-$arch" "$tests/cuda/cuda-module-bench" "/tmp/sm_$arch/build/cuda/grainless-cuda.so" 3 24mp
done
export GRAINLESS_MODULE_DIR=$module
bench=/tmp/main/build/tools/grainless-bench
for suite in ${SUITES:-peers seeds scaling}; do step "bench-$suite" "$bench" --suite "$suite" --device cuda:0 --repeat 5; done
exit $status
