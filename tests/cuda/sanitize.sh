#!/bin/bash
# SPDX-License-Identifier: MIT
# compute-sanitizer over small cases of the CUDA tests on a computer with an NVIDIA card, a process a case.
# usage: tests/cuda/sanitize.sh TOOL BUILD     TOOL: memcheck, initcheck, synccheck or racecheck
# LIMIT: seconds a case may take, default 120; one that takes longer counts as failed. JOBS: cases at a time, default 4.
# CASES: a pattern that the cases' names have to match. First a kernel with the very mistake that the tool is for: where
# that passes, nothing else proves anything.
set -u
tool=$1 build=$2
case $tool in
  memcheck | initcheck | synccheck | racecheck) ;;
  *) echo "sanitize.sh: no tool '$tool'" >&2; exit 2 ;;
esac
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

# Those of the contract that take minutes under a tool, and do what smaller ones do, too.
slow='Bm3dGrey|Bm3dColour|Bm3dGrey8|Bm3dColour16|Bm3dFast|Bm3dFastGrey|Bm3dHigh|Bm3dScales|Bm3dDft|Bm3dDftColour'
slow+='|Bm3dFirstStage|Bm3dPrefiltered|Bm3dPrefilteredColour|NlmGrey|NlmColour|NlmWide|NlmHigh|NlmHigh8'
slow+='|SwNlmGrey|SwNlmColour|SwNlmAuto|SwNlmWide|NlmTall|NlmTall8|NlmTallHigh|NlmTallHigh8'
# racecheck takes more than 7 minutes for each of these.
[[ $tool != racecheck ]] || slow+='|Bm3dHighColour|NlmHighWide|NlmTallHighApart|NlmTallApart|DctGrey|DctColour|DctScales'

contract_names() {
  "$build/tests/contract/contract-tests" cuda "$build/cuda" --gtest_list_tests --gtest_filter='Cases/Contract.TheSameBits*' |
    sed -nE 's,^  [A-Za-z]+/([A-Za-z0-9]+).*,\1,p' | grep -vxE "$slow"
}

# A line a case: its name and its command.
cases() {
  local name
  for name in AllStepsAndGroups SmallAndOddSizes AcrossCells HighContrast \
    ConstantImageStaysConstant ChannelWithoutStrengthIsCopied; do
    [[ $tool$name != racecheckConstantImageStaysConstant ]] || continue
    echo "bm3d-$name $build/tests/cuda/cuda-bm3d-tests --gtest_filter=*$name"
  done
  for name in $(contract_names); do
    echo "contract-$name $build/tests/contract/contract-tests cuda $build/cuda --gtest_filter=*/Contract.TheSameBits*/$name"
  done
  for name in Grey3 Grey5 Colour3 Apart Small Patch4; do
    echo "volume-$name $build/tests/contract/contract-tests cuda $build/cuda --gtest_filter=*VolumeContract.TheSameBits*/$name"
  done
  echo "pyramid $build/tests/cuda/cuda-module-tests $build/cuda/grainless-cuda.so --gtest_filter=*LevelsOfResolution*"
}

compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/tests/cuda/cuda-faulty-kernel" "$tool" >"$logs/faulty" 2>&1
if (($? != 1)) || ! grep -qE 'SUMMARY: [1-9]' "$logs/faulty"; then
  echo "not ok $tool does not see its own mistake: $(tail -1 "$logs/faulty")"
  exit 1
fi
while read -r name command; do
  while (($(jobs -rp | wc -l) >= ${JOBS:-4})); do wait -n; done
  # shellcheck disable=SC2086 # a command of several words
  check "$name" $command &
done < <(cases | grep -E -- "${CASES:-.}") >"$logs/results"
wait
cat "$logs/results"
# No result at all is no proof.
grep -q '^ok' "$logs/results" && ! grep -q '^not ok' "$logs/results"
