# SPDX-License-Identifier: MIT
"""GIMP on a display: widgets by accessible name, screenshots, and answers from GIMP's own Python."""
import io
import json
import os
import re
import subprocess
import time

import gi

gi.require_version("Atspi", "2.0")
import numpy as np  # noqa: E402
from gi.repository import Atspi, GLib  # noqa: E402
from PIL import Image  # noqa: E402

# A click that took longer than the caller waited would be repeated, and would be two.
Atspi.set_timeout(30000, 60000)
PATIENCE = 90  # seconds; machines that run the tests may be busy
WAYLAND = os.environ.get("GRAINLESS_WAYLAND")  # the display's scale; else it is X
SCALE = int(WAYLAND or os.environ.get("GDK_SCALE", "1"))  # device pixels to one of the widgets'


def wait_for(what, condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            result = condition()
        except GLib.Error:  # a widget that went away while it was asked
            result = None
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {patience} s")


def application(name):
    # News of applications that come and go are taken from the main loop.
    while GLib.MainContext.default().iteration(False):
        pass
    desktop = Atspi.get_desktop(0)
    for i in range(desktop.get_child_count()):
        child = desktop.get_child_at_index(i)
        if child is not None and child.get_name() == name:
            return child
    return None


def find_all(root, role, matches):
    found, stack = [], [root]
    while stack:
        widget = stack.pop()
        if widget is None:
            continue
        try:
            if widget.get_role_name() == role and matches(widget.get_name() or ""):
                found.append(widget)
            stack += [widget.get_child_at_index(i) for i in range(widget.get_child_count())]
        except GLib.Error:
            continue
    return found


def find(root, role, name):
    found = find_all(root, role, lambda text: text == name)
    return found[0] if found else None


def is_sensitive(widget):
    return widget.get_state_set().contains(Atspi.StateType.SENSITIVE)


def is_showing(widget):
    return widget.get_state_set().contains(Atspi.StateType.SHOWING)


def click(widget):
    """As soon as the widget takes it: GTK refuses while it is greyed for a moment, as OK and Cancel are when work begins."""
    wait_for("the click", lambda: widget.get_action_iface().do_action(0), 20)


def text(widget):
    return Atspi.Text.get_text(widget, 0, -1)


def sway(*command):
    """An answer of the Wayland display."""
    return json.loads(subprocess.run(["swaymsg", "--raw", *command], check=True, capture_output=True).stdout)


def window_of(widget):
    while widget.get_parent() is not None and widget.get_parent().get_role_name() != "application":
        widget = widget.get_parent()
    return widget


def window_place(widget):
    """Where the widget's window stands on Wayland, as only the display knows."""
    widget = window_of(widget)
    nodes = [sway("-t", "get_tree")]
    while nodes:
        node = nodes.pop()
        if node["name"] == widget.get_name() and node.get("pid"):
            return node["rect"]["x"], node["rect"]["y"]
        nodes += node["nodes"] + node["floating_nodes"]
    raise AssertionError(f"no window '{widget.get_name()}' on the display")


def extents(widget):
    """Left, top, width and height on the screen, device pixels."""
    x, y = window_place(widget) if WAYLAND else (0, 0)
    box = widget.get_component_iface().get_extents(Atspi.CoordType.WINDOW if WAYLAND else Atspi.CoordType.SCREEN)
    return (box.x + x) * SCALE, (box.y + y) * SCALE, box.width * SCALE, box.height * SCALE


def screen():
    """All that is on the screen."""
    command = ["grim", "-t", "png", "-"] if WAYLAND else ["import", "-window", "root", "png:-"]
    png = subprocess.run(command, check=True, capture_output=True).stdout
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def screenshot(widget):
    """The widget's pixels as they are on the screen."""
    x, y, width, height = extents(widget)
    window = "root"
    if WAYLAND:
        return screen()[y:y + height, x:x + width]
    if SCALE > 1:  # the window may stand between two of GTK's pixels
        box = widget.get_component_iface().get_extents(Atspi.CoordType.WINDOW)
        x, y = box.x * SCALE, box.y * SCALE
        window = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", f"^{re.escape(window_of(widget).get_name())}$"],
                                check=True, capture_output=True, text=True).stdout.split()[-1]
    png = subprocess.run(["import", "-window", window, "-crop", f"{width}x{height}+{x}+{y}", "+repage", "png:-"],
                         check=True, capture_output=True).stdout
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


class Gimp:
    """A running GIMP with one picture, which answers questions about it (answer.py)."""

    def __init__(self, work, picture):
        self.work = work
        self.log = open(work / "gimp.log", "w", encoding="utf-8")
        for path in work.glob("answer[0-9]*"):
            path.unlink()
        script = f"WORK={str(work)!r}; exec(open({str(work / 'answer.py')!r}).read())"
        self.process = subprocess.Popen(["gimp", "--no-splash", str(picture), "--batch-interpreter=python-fu-eval",
                                         "-b", script], stdout=self.log, stderr=subprocess.STDOUT)
        self.number = 0

    def ask(self):
        """The layer's pixels, and whether the image is marked as changed."""
        self.number += 1
        (self.work / "question").write_text(str(self.number), encoding="utf-8")
        path = self.work / f"answer{self.number}.json"
        wait_for("an answer from GIMP", path.exists)
        answer = json.loads(path.read_text(encoding="utf-8"))
        pixels = np.frombuffer(path.with_suffix(".raw").read_bytes(), np.uint8)
        return pixels.reshape(answer["height"], answer["width"], -1), answer["dirty"]

    def menu_item(self, matches):
        return wait_for("a menu item", lambda: (find_all(application("gimp"), "menu item", matches) or [None])[0])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
