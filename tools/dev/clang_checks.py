#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second compiler's warnings, and clang-tidy: clang_checks.py [--all] SOURCE_ROOT BUILD_DIR CLANG_TIDY

Every C++ source that BUILD_DIR compiles goes through clang-tidy once, with the flags of its own compilation: clang's
warnings come along with the parsing that clang-tidy needs anyway. A finding of either is an error. All checks of .clang-tidy
take five times as long as the parsing and run with --all (or GRAINLESS_CHECK=all); without it, QUICK's, and tests are left
to the sanitizers' builds, which clang compiles. Code for the GPU is left to nvcc.

With $GRAINLESS_CLANG_AHEAD a run that was begun ahead is waited for (build.sh), and its findings are told.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

WARNINGS = "clang-diagnostic-*"
# clang-tidy runs for no warnings alone.
SLIGHT = "modernize-use-override"
QUICK = "readability-identifier-naming"
# What modernize-use-nullptr and -override find, by the compiler, which has parsed it already.
ASKED = ("-Wzero-as-null-pointer-constant", "-Wsuggest-override")
LAYERS = ("engine", "ui", "plugin", "tools", "python")
HEADERS = "--header-filter=/(engine|cuda|ui|plugin|tools|python|tests)/"
# Compiled once for each instruction set: they take longest, and so begin first.
SLOW = "engine/cpu"
NICE = 12  # before what CI compiles ahead, at 19


def sources(root, build, everything):
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in entries}
    names = {path.relative_to(root).as_posix() for path in paths if path.suffix == ".cpp" and path.is_relative_to(root)}
    if not everything:
        names = {name for name in names if not name.startswith("tests/")}
    return sorted(names, key=lambda name: (not name.startswith(SLOW), name))


def checks(name, everything):
    if name.split("/")[0] not in LAYERS:
        return f"-*,{WARNINGS},{SLIGHT}"
    return WARNINGS if everything else f"-*,{WARNINGS},{QUICK}"


def complaints(command, name, root):
    done = subprocess.run([*command, name], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stdout.replace("../../", "").replace(f"{root}/", "") or f"{name}: {done.stderr}"


def give_way():
    """Tests that look at windows run beside this, and others wait for its end. Linux may share the processors among
    sessions first, and Meson makes one for each test."""
    os.nice(NICE)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text(str(NICE), encoding="ascii")


def awaited(folder):
    """What the run that was begun ahead found; None when it was ended before it had its status."""
    running = pathlib.Path("/proc", (folder / "process").read_text(encoding="utf-8").strip())
    status = folder / "status"
    while running.exists() and not status.exists():
        time.sleep(0.2)
    if not status.exists():
        return None
    print((folder / "found").read_text(encoding="utf-8"), end="")
    return int(status.read_text(encoding="utf-8"))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("root", type=pathlib.Path)
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("clang_tidy")
    options.add_argument("--all", action="store_true")
    asked = options.parse_args()
    ahead = os.environ.get("GRAINLESS_CLANG_AHEAD")
    status = awaited(pathlib.Path(ahead)) if ahead else None
    if status is not None:
        return status
    everything = asked.all or os.environ.get("GRAINLESS_CHECK") == "all"
    return check(everything, asked.root.resolve(), asked.build.resolve(), asked.clang_tidy)


def check(everything, root, build, tidy):
    give_way()
    begun = time.monotonic()
    common = [tidy, "--quiet", "--warnings-as-errors=*", HEADERS, "-p", str(build),
              *(f"--extra-arg={warning}" for warning in ASKED)]
    names = sources(root, build, everything)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(complaints, [*common, f"--checks={checks(name, everything)}"], name, root) for name in names]
        found = [run.result() for run in runs if run.result()]
    # A header's finding comes with every source that includes it.
    print("".join(dict.fromkeys(found)), end="")
    print(f"clang: {len(found)} of {len(names)} sources with findings, {time.monotonic() - begun:.0f} s")
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
