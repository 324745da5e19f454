#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A plug-in for tests: somebody who changes the image while the filter works on it.

GIMP starts it with itself. Whenever pause.cpp holds the filter, it runs action.py from the same folder and lets the
filter go on; done.json then says what went wrong, if anything.
"""
import json
import os
import pathlib
import sys
import time
import traceback

import gi

gi.require_version("Gimp", "3.0")
gi.require_version("Gegl", "0.4")
from gi.repository import Gegl, Gimp  # noqa: E402

NAME = "extension-grainless-meanwhile"


def act(folder, pid):
    """Runs the action; it may know the filter's process by `filter_pid`."""
    done = {"error": None}
    try:
        code = (folder / "action.py").read_text(encoding="utf-8")
        exec(code, {"Gimp": Gimp, "Gegl": Gegl, "os": os, "time": time, "filter_pid": pid})
    except Exception:
        done["error"] = traceback.format_exc()
    part = folder / "done.part"
    part.write_text(json.dumps(done), encoding="utf-8")
    (folder / "reached").unlink(missing_ok=True)
    os.replace(part, folder / "done.json")


def serve():
    folder, gimp = pathlib.Path(os.environ["GRAINLESS_PAUSE"]), os.getppid()
    while os.getppid() == gimp:
        time.sleep(0.005)
        try:
            filter_pid = int((folder / "reached").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        act(folder, filter_pid)


class Meanwhile(Gimp.PlugIn):
    def do_query_procedures(self):
        return [NAME]

    def do_set_i18n(self, name):
        return False

    def do_create_procedure(self, name):
        procedure = Gimp.Procedure.new(self, name, Gimp.PDBProcType.PERSISTENT, self.run, None)
        procedure.set_documentation("Changes images while tests run", None, name)
        return procedure

    def run(self, procedure, config, data):
        procedure.persistent_ready()
        serve()
        return procedure.new_return_values(Gimp.PDBStatusType.SUCCESS, None)


Gimp.main(Meanwhile.__gtype__, sys.argv)
