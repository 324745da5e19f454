# SPDX-License-Identifier: MIT
"""Runs the steps of a GUI test in a GIMP, as TAP: every driver's main."""
import os
import subprocess
import time
import traceback

import desktop
from desktop import wait_for
from session import outline


ENOUGH = 3  # failures: each takes as long as somebody waits for what doesn't come, and CI has an end


def told(session, step, begun, failures):
    """A failed step: its reason, the widgets and the screen."""
    command = ["grim"] if desktop.WAYLAND else ["import", "-window", "root"]
    subprocess.run([*command, str(session.work / f"failed{failures}.png")], check=False)
    print(f"not ok - {step}\n# {time.monotonic() - begun:.1f} s")
    print("\n".join("# " + line for line in (traceback.format_exc() + outline(desktop.application("grainless")))
                    .splitlines()), flush=True)


def run_steps(session, steps, recover=None):
    """How many of the steps, (name, body) each, failed. GRAINLESS_CASES picks those whose names hold it. The first failure
    is the last step, unless recover() leaves GIMP as the next one wants it; the third is it in any case."""
    failed, begun, step = 0, time.monotonic(), "GIMP starts"
    try:
        wait_for("GIMP", lambda: desktop.application("gimp"))
        for step, body in steps:
            if os.environ.get("GRAINLESS_CASES", "") not in step:
                continue
            begun = time.monotonic()
            try:
                body()
                print(f"ok - {step}\n# {time.monotonic() - begun:.1f} s", flush=True)
            except Exception:
                if recover is None:
                    raise
                failed += 1
                told(session, step, begun, failed)
                if failed == ENOUGH:
                    print(f"# after {failed} failures the other steps are not tried", flush=True)
                    break
                recover()
    except Exception:
        failed += 1
        told(session, step, begun, failed)
    return failed


def main(session, steps):
    """A driver's whole run: its status."""
    try:
        failed = run_steps(session, steps)
    finally:
        session.close()
    if not failed:
        print("# end", flush=True)
    return 1 if failed else 0
