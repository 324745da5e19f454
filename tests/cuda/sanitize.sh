#!/bin/bash
# SPDX-License-Identifier: MIT
# compute-sanitizer over small cases of the CUDA tests on a computer with an NVIDIA card, a process a case.
# usage: tests/cuda/sanitize.sh TOOL BUILD     TOOL: memcheck, initcheck, synccheck or racecheck
# LIMIT: seconds a case may take, default 120; one that takes longer counts as failed. JOBS: cases at a time, default 4.
# CASES: a pattern that the cases' names have to match.
set -u
tool=$1 build=$2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

check() { # NAME PROGRAM ARGUMENT…
  local name=$1 log
  shift
  log=$(mktemp "$logs/XXXX")
  if timeout "${LIMIT:-120}" compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" >"$log" 2>&1 &&
    grep -q "PASSED  \] 1 test" "$log"; then
    echo "ok $tool $name"
  else
    echo "not ok $tool $name ($?): $(grep -E '=========|FAILED' "$log" | tail -2 | tr '\n' ' ')"
  fi
}

# A line a case: its name and its command.
cases() {
  local name
  for name in AllStepsAndGroups SmallAndOddSizes AcrossCells HighContrast \
    ConstantImageStaysConstant ChannelWithoutStrengthIsCopied; do
    echo "bm3d-$name $build/tests/cuda/cuda-bm3d-tests --gtest_filter=*$name"
  done
  for name in Bm3dOnePatch Bm3dPatch5 Bm3dPatch16 Bm3dColourOnly Bm3dHighColour Bm3dDftFirst NlmSmall \
    NlmEvenPatch NlmApart NlmHighSmall NlmHighEven NlmHighApart NlmHighWide SwNlmSmall SwNlmOne \
    SwNlmEvenPatch SwNlmLargePatch SwNlmApart; do
    echo "contract-$name $build/tests/contract/contract-tests cuda $build/cuda --gtest_filter=*TheSameBits*/$name"
  done
  for name in Grey3 Grey5 Colour3 Apart Small Patch4; do
    echo "volume-$name $build/tests/contract/contract-tests cuda $build/cuda --gtest_filter=*VolumeContract.TheSameBits*/$name"
  done
  echo "pyramid $build/tests/cuda/cuda-module-tests $build/cuda/grainless-cuda.so --gtest_filter=*LevelsOfResolution*"
}

while read -r name command; do
  while (($(jobs -rp | wc -l) >= ${JOBS:-4})); do wait -n; done
  # shellcheck disable=SC2086 # a command of several words
  check "$name" $command &
done < <(cases | grep -E -- "${CASES:-.}") >"$logs/results"
wait
cat "$logs/results"
! grep -q '^not ok' "$logs/results"
