#!/bin/bash
# SPDX-License-Identifier: MIT
# Packs the built fuzz targets with their libraries, loader, seeds and run-all.sh, for a computer with another libc and
# without a network: pack.sh BUILD OUT makes OUT/fuzz.tar.gz. There, unpacked: fuzz/run-all.sh RESULTS SECONDS JOBS, and
# fuzz/run TARGET FILE… for one input.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
build=$1/tests/fuzz
mkdir -p "$2"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
out=$work/fuzz
mkdir -p "$out"/{bin/module,lib}
cp "$build"/module/grainless-cuda.so "$out/bin/module"
for program in "$build"/fuzz-*; do
    [[ -f $program && -x $program ]] || continue
    cp "$program" "$out/bin"
    strip "$out/bin/${program##*/}"
    ldd "$program" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/[^ ]+) .*/\1/p' >>"$out/libraries"
done
sort -u "$out/libraries" | xargs -I{} cp -L {} "$out/lib"
rm "$out/libraries"
mv "$out"/lib/ld-linux-x86-64.so.2 "$out/loader"
cp -r "$here"/{corpus,run-all.sh} "$out"
cat >"$out/run" <<'RUN'
#!/bin/bash
# run TARGET ARGUMENT…: a target with the libraries it was built with.
here=$(realpath "$(dirname "$0")")
program=$here/bin/fuzz-$1
shift
exec "$here/loader" --library-path "$here/lib" "$program" "$@"
RUN
chmod +x "$out/run"
tar -C "$work" -czf "$2/fuzz.tar.gz" fuzz
ls -lh "$2/fuzz.tar.gz"
