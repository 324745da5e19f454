#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the fuzz targets side by side: run-all.sh OUT SECONDS JOBS [TARGET…]     (every target without one)
#
# JOBS processes at a time (0: one a core), several for a target when there are more than targets; what they learn they
# share. A process that finds something is started again, until its SECONDS are over. Every input on which a target
# fails comes to OUT/found, what the fuzzers learned to OUT/corpus, their words to OUT/logs. TAP=1 prints TAP, else a
# table; the status says whether nothing was found.
#
# The targets lie in bin/ beside this script (a pack of pack.sh), or where FUZZ_PROGRAMS says.
set -uo pipefail
here=$(realpath "$(dirname "$0")")
((${#} >= 3)) || { echo "usage: run-all.sh OUT SECONDS JOBS [TARGET…]" >&2; exit 1; }
seconds=$2 jobs=$3
((jobs)) || jobs=$(nproc)
mkdir -p "$1"/{found,logs,corpus} || exit 1
out=$(realpath "$1")
shift 3
programs=${FUZZ_PROGRAMS:-$here/bin}

# "A few hundred bytes never cost seconds or gigabytes": of memory a process may take this much, and a run this long.
memory=512 limit=5 longest=4096
# The clock says little of a test's cost on a machine that others use, too.
if [[ ${TAP:-} ]]; then limit=40; fi

# Freed memory is given back soon, or it would count as the target's own. Nobody asks for more than a mebibyte of stack.
export ASAN_OPTIONS=quarantine_size_mb=8:allocator_may_return_null=1:max_malloc_fill_size=0:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
symbolizer=/usr/lib/llvm-19/bin/llvm-symbolizer
if [[ -x $symbolizer ]]; then export ASAN_SYMBOLIZER_PATH=$symbolizer; fi

run() { # TARGET ARGUMENT…
    local target=$1
    shift
    if [[ -x $here/run ]]; then "$here/run" "$target" "$@"; else "$programs/fuzz-$target" "$@"; fi
}

if (($#)); then
    targets=("$@")
else
    mapfile -t targets < <(find "$programs" -maxdepth 1 -name 'fuzz-*' -type f -perm -u+x -printf '%f\n' | sed 's/^fuzz-//' | sort)
fi
((${#targets[@]})) || { echo "run-all.sh: no targets in $programs" >&2; exit 1; }

# One process of a target, again and again until its time is over.
work() { # TARGET NUMBER SECONDS
    local target=$1 number=$2 end=$((SECONDS + $3)) round=0
    local dictionary=$here/corpus/$target.dict
    local -a options=(-max_len="$longest" -rss_limit_mb="$memory" -timeout="$limit" -report_slow_units="$limit"
        -print_final_stats=1 -reload=1 -artifact_prefix="$out/found/$target-")
    [[ -f $dictionary ]] && options+=(-dict="$dictionary")
    while ((SECONDS < end && round < 50)); do
        run "$target" "${options[@]}" -seed=$((number * 1000 + ++round)) -max_total_time=$((end - SECONDS)) \
            "$out/corpus/$target" "$here/corpus/$target" >"$out/logs/$target-$number-$round.log" 2>&1
    done
}

# Seeds and what was ever found, one by one: each of them must pass before anything new is looked for.
replay() { # TARGET
    run "$1" -rss_limit_mb="$memory" -timeout="$limit" -artifact_prefix="$out/found/$1-" -runs=1 \
        "$here/corpus/$1"/* >"$out/logs/$1-replay.log" 2>&1 || touch "$out/found/$1-replay-failed"
}

start() { # TARGET NUMBER
    mkdir -p "$out/corpus/$1"
    (($2)) || replay "$1"
    work "$1" "$2" "$seconds"
}

rm -rf "${out:?}"/{found,logs}/*
count=$((jobs > ${#targets[@]} ? jobs : ${#targets[@]}))
for ((i = 0; i < count; ++i)); do
    while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
    start "${targets[i % ${#targets[@]}]}" $((i / ${#targets[@]})) &
done
wait

statistic() { # NAME TARGET: a value a process
    cat "$out/logs/$2"-*.log | sed -n "s/^stat::$1: *//p"
}
sum() {
    local total=0 value
    while read -r value; do ((total += value)); done
    echo "$total"
}

# What a machine that is gone found: in words, and the smallest input itself, to be kept in corpus/.
tell() { # TARGET
    local smallest
    grep -hE 'ERROR:|SUMMARY|does not hold|runtime error|Cannot|error while' "$out/logs/$1"-*.log |
        sed 's/^==[0-9]*==//' | sort | uniq -c | sort -rn | head -8 | cut -c -600
    smallest=$(find "$out/found" -name "$1-*" -size +0 -printf '%s %p\n' | sort -n | head -1 | cut -d ' ' -f 2-)
    [[ ! $smallest ]] || { echo "base64 of ${smallest##*/}:" && head -c 3000 "$smallest" | base64 -w 110; }
}

failures=0
printf '%s%-8s %12s %8s %9s %9s\n' "${TAP:+# }" target runs found "peak MiB" seconds
for target in "${targets[@]}"; do
    runs=$(statistic number_of_executed_units "$target" | sum)
    peak=$(statistic peak_rss_mb "$target" | sort -n | tail -1)
    found=$(find "$out/found" -name "$target-*" | wc -l)
    printf '%s%-8s %12s %8s %9s %9s\n' "${TAP:+# }" "$target" "$runs" "$found" "${peak:--}" "$seconds"
    # A target that never ran has found nothing, and proves as little.
    if ((found || runs == 0)); then
        ((++failures))
        [[ ! ${TAP:-} ]] || tell "$target" >&2
    fi
    [[ ! ${TAP:-} ]] || echo "$( ((found || runs == 0)) && echo 'not ok' || echo ok) - fuzz $target: $runs runs"
done
[[ ! ${TAP:-} ]] || echo "1..${#targets[@]}"
((failures == 0))
