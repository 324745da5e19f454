#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The filter's dialog in a real GIMP on a display of its own: run.py GIMP_ENV BUILD_DIR PLUG_IN_DIR [DRIVER [PAUSE_LIBRARY]]

Prints TAP; complaints of GTK, GLib or GIMP about the filter fail the run, missing mnemonics among them.
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "gimp"))
from run import add_meanwhile, complaints, own_folder, stage_build  # noqa: E402

# GTK's own window for files, when the keyboard asks for its path entry.
GTK_FILES = "gtk_widget_event: assertion 'WIDGET_REALIZED_FOR_EVENT"
# Two of the buttons of GIMP's own dialog, as GIMP's translators have them: a setting of ours has its name there.
GIMPS_BUTTONS = "for label of property (null) and dialog button"


def run_and_show(command, environment, messages):
    """Its lines, printed as they come, so that a run that is ended for its time has said how far it was; and its status."""
    lines = []
    with open(messages, "w", encoding="utf-8") as errors, subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace") as run:
        for line in run.stdout:
            lines.append(line.rstrip("\n"))
            print(lines[-1], flush=True)
    return lines, run.returncode


def main():
    gimp_env, build, plug_in_dir = sys.argv[1:4]
    driver = sys.argv[4] if len(sys.argv) > 4 else "drive.py"
    work, _lock = own_folder(pathlib.Path(build) / "tests" / ("gui-" + driver.removesuffix(".py")))
    plug_ins = stage_build(build, work, plug_in_dir)
    report = work / "report.jsonl"
    report.unlink(missing_ok=True)
    environment = dict(os.environ, GRAINLESS_REPORT=str(report), GRAINLESS_TEST_PLUG_INS=str(plug_ins))
    if len(sys.argv) > 5:
        environment |= add_meanwhile(plug_ins, work, sys.argv[5])
    print("TAP version 13", flush=True)
    messages = work / "messages.log"
    lines, status = run_and_show([gimp_env, "--gui", work / "profile", plug_ins, sys.executable, HERE / driver, work],
                                 environment, messages)
    shown = len(lines)
    messages, log = messages.read_text(encoding="utf-8", errors="replace"), work / "gimp.log"
    messages += log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    sys.stderr.write(messages)
    found = [line for line in complaints(messages) if GTK_FILES not in line]
    found += [line for line in messages.splitlines() if "mnemonic" in line.lower() and GIMPS_BUTTONS not in line]
    lines.append(f"{'not ' if found else ''}ok - no complaint of GTK, GLib or GIMP about the filter")
    lines += [f"# {line}" for line in found]
    lines.append(f"{'' if '# end' in lines and status == 0 else 'not '}ok - the run came to its end")
    results = [line for line in lines if re.match(r"(not )?ok", line)]
    print("\n".join(lines[shown:]))
    print(f"1..{len(results)}")
    return 0 if all(line.startswith("ok") for line in results) else 1


if __name__ == "__main__":
    sys.exit(main())
