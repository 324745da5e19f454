#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GIMP ends in mid-work, without a window: quit_test.py GIMP_ENV BUILD_DIR PLUG_IN_DIR PAUSE_LIBRARY

Asked to (SIGTERM, File > Quit) or killed: the plug-in's process ends, too, and the picture's file is as it was. Prints TAP.
"""
import hashlib
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import zlib

import faults
import pauses
from run import add_meanwhile, own_folder, stage_build

PATIENCE = 30  # seconds for the plug-in to notice
SCRIPT = """
from gi.repository import Gimp, Gio
image = Gimp.file_load(Gimp.RunMode.NONINTERACTIVE, Gio.File.new_for_path({picture!r}))
procedure = Gimp.get_pdb().lookup_procedure({procedure!r})
config = procedure.create_config()
config.set_property("image", image)
config.set_core_object_array("drawables", image.get_layers())
procedure.run(config)
"""


def write_picture(path):
    """A PNG of noise."""
    side = 200
    rows = b"".join(b"\0" + os.urandom(3 * side) for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def is_there(process):
    """Running; a zombie has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gimp_ends(how, code, gimp_env, work, plug_ins, environment):
    picture, note = work / "picture.png", work / "filter.pid"
    write_picture(picture)
    note.unlink(missing_ok=True)
    before = hashlib.sha256(picture.read_bytes()).hexdigest()
    script = SCRIPT.format(picture=str(picture), procedure="plug-in-grainless-denoise")
    action = f"open({str(note)!r}, 'w').write(str(filter_pid))\n{code}time.sleep(0.5)\n"
    pauses.prepare(pauses.STAGES["middle"], action)
    subprocess.run([gimp_env, "--kept", work / "profile", plug_ins, "env",
                    f"LD_PRELOAD={environment['GRAINLESS_PAUSE_LIBRARY']}",
                    "gimp-console", "-i", "--batch-interpreter=python-fu-eval", "-b", script, "--quit"],
                   env=environment, stdout=sys.stderr, stderr=subprocess.STDOUT, timeout=240, check=False)
    assert note.exists(), "the filter never came to its middle"
    pauses.clear()
    process, end = int(note.read_text()), time.monotonic() + PATIENCE
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.1)
    problem = ""
    if is_there(process):
        problem = "the plug-in's process is left"
        os.kill(process, signal.SIGKILL)
    elif hashlib.sha256(picture.read_bytes()).hexdigest() != before:
        problem = "the picture's file has changed"
    faults.judge(f"GIMP {how}", "middle", "batch", "the plug-in ends, too, and the file is as it was",
                 problem or "so it was", problem)


def main():
    gimp_env, build, plug_in_dir, pause = sys.argv[1:5]
    work, _lock = own_folder(pathlib.Path(build) / "tests" / "gimp-quit")
    plug_ins = stage_build(build, work, plug_in_dir)
    environment = dict(os.environ, **add_meanwhile(plug_ins, work, pause))
    pauses.FOLDER = work / "pause"
    failed = 0
    print(f"TAP version 13\n1..{len(pauses.ENDS)}")
    for how, code in pauses.ENDS.items():
        try:
            gimp_ends(how, code, gimp_env, work, plug_ins, environment)
            print(f"ok - GIMP {how} in mid-work", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"not ok - GIMP {how} in mid-work\n# {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
