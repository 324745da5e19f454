#!/bin/bash
# SPDX-License-Identifier: MIT
# compute-sanitizer over small cases of the CUDA tests, one by one, on a computer with an NVIDIA card.
# usage: tests/cuda/sanitize.sh TOOL BUILD     TOOL: memcheck, initcheck, synccheck or racecheck
# racecheck does not follow the named barriers by which BM3D's warps take turns (cuda/bm3d_filter.cu):
# it needs a build of its own, meson setup -Dcuda=enabled -Dcuda_args=-DGRAINLESS_RACECHECK.
# LIMIT: seconds a case may take, default 120; one that takes longer counts as failed.
set -u
tool=$1 build=$2
status=0
check() {
  local name=$1
  shift
  if timeout "${LIMIT:-120}" compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" >/tmp/sanitize.log 2>&1 &&
    grep -q "PASSED  \] 1 test" /tmp/sanitize.log; then
    echo "ok $tool $name"
  else
    echo "not ok $tool $name ($?): $(grep -E '=========|FAILED' /tmp/sanitize.log | tail -2 | tr '\n' ' ')"
    status=1
  fi
}
for name in AllStepsAndGroups SmallAndOddSizes AcrossCells HighContrast \
  ConstantImageStaysConstant ChannelWithoutStrengthIsCopied; do
  check "bm3d $name" "$build/tests/cuda/cuda-bm3d-tests" "--gtest_filter=*$name"
done
for name in Bm3dOnePatch Bm3dPatch5 Bm3dPatch16 Bm3dColourOnly NlmSmall NlmEvenPatch NlmApart \
  NlmHighSmall NlmHighEven NlmHighApart NlmHighWide; do
  check "contract $name" "$build/tests/contract/contract-tests" cuda "$build/cuda" \
    "--gtest_filter=*TheSameBits*/$name"
done
check "pyramid" "$build/tests/cuda/cuda-module-tests" "$build/cuda/grainless-cuda.so" \
  '--gtest_filter=*LevelsOfResolution*'
exit $status
