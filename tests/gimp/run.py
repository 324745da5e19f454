#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases in a real GIMP without a display: run.py GIMP_ENV BUILD_DIR PLUG_IN_DIR PAUSE_LIBRARY [CLI]

Installs the build into a stage of its own, so that the cases see what a user would get, and prints TAP. Complaints of
GLib, GTK or GIMP that name the filter fail the run. GRAINLESS_CASES=TEXT runs only the cases that have it in their names,
GRAINLESS_CASE_FILES="stack faults" only those of case_stack.py and case_faults.py. $GRAINLESS_CLOCK_LIBRARY (clock.cpp) is
loaded into GIMP and its plug-ins.
"""
import fcntl
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# GIMP 3.0 ends plug-ins by closing their pipe; every plug-in, GIMP's own included, complains about that. And libgimp says so
# when a settings file has values out of range.
HARMLESS = re.compile(r"gimp_flush\(\): error: Broken pipe|GLib-GObject-CRITICAL.*is invalid or out of range for property")
COMPLAINT = re.compile(r"\(grainless:\d+\).*(CRITICAL|WARNING)|^\[plug-in-grainless|grainless.*(CRITICAL|WARNING)")


def own_folder(folder):
    """The folder, or the first one beside it ("…-2") in which no other run works; and what keeps others out while it is open."""
    folder = pathlib.Path(folder)
    for number in itertools.count(1):
        own = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        own.mkdir(parents=True, exist_ok=True)
        lock = open(own / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return own, lock
        except BlockingIOError:
            lock.close()


def stage_build(build, work, plug_in_dir):
    """Lays the build out below work; returns the plug-ins folder. $GRAINLESS_TEST_ARCHIVE is an unpacked portable archive
    that is tried in the build's place."""
    if archive := os.environ.get("GRAINLESS_TEST_ARCHIVE"):
        return pathlib.Path(archive)
    stage = work / "stage"
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--only-changed", "--quiet", "--destdir", stage],
                   check=True, stdout=sys.stderr)
    return stage / plug_in_dir.lstrip("/") / ".."


def add_meanwhile(plug_ins, work, library):
    """Lets tests hold the filter in mid-work (pause.cpp) and change images then (meanwhile.py); returns the environment."""
    plug_in = plug_ins / "meanwhile" / "meanwhile.py"
    plug_in.parent.mkdir(exist_ok=True)
    shutil.copy(HERE / "meanwhile.py", plug_in)
    plug_in.chmod(0o755)
    folder = work / "pause"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return {"GRAINLESS_PAUSE": str(folder), "GRAINLESS_PAUSE_LIBRARY": str(library)}


def complaints(text):
    return [line for line in text.splitlines() if COMPLAINT.search(line) and not HARMLESS.search(line)]


def main():
    gimp_env, build, plug_in_dir, pause = sys.argv[1:5]
    work, _lock = own_folder(pathlib.Path(build) / "tests" / "gimp")
    plug_ins = stage_build(build, work, plug_in_dir)
    tap = work / "cases.tap"
    tap.unlink(missing_ok=True)
    environment = dict(os.environ, GRAINLESS_TEST_DIR=str(HERE), GRAINLESS_TEST_WORK=str(work),
                       GRAINLESS_CLI=sys.argv[5] if len(sys.argv) > 5 else "",
                       GRAINLESS_REPORT=str(work / "report.jsonl"), GRAINLESS_TEST_PLUG_INS=str(plug_ins),
                       **add_meanwhile(plug_ins, work, pause))
    preloaded = ":".join(filter(None, [pause, os.environ.get("GRAINLESS_CLOCK_LIBRARY")]))
    script = f"exec(open({str(HERE / 'cases.py')!r}).read())"
    run = subprocess.run([gimp_env, work / "profile", plug_ins, "env", f"LD_PRELOAD={preloaded}", "gimp-console", "-i",
                          "--batch-interpreter=python-fu-eval", "-b", script, "--quit"],
                         env=environment, capture_output=True, text=True, errors="replace", check=False)
    sys.stderr.write(run.stdout + run.stderr)
    lines = tap.read_text(encoding="utf-8").splitlines() if tap.exists() else []
    found = complaints(run.stdout + run.stderr)
    lines.append(f"{'not ' if found else ''}ok - no complaint of GTK, GLib or GIMP about the filter")
    lines += [f"# {line}" for line in found]
    ended = lines[0:1] == ["TAP version 13"] and "# end" in lines and run.returncode == 0
    lines.append(f"{'' if ended else 'not '}ok - GIMP ran all cases to their end")
    results = [line for line in lines if re.match(r"(not )?ok", line)]
    print("\n".join(lines))
    print(f"1..{len(results)}")
    return 0 if all(line.startswith("ok") for line in results) else 1


if __name__ == "__main__":
    sys.exit(main())
