# SPDX-License-Identifier: MIT
"""A GIMP that opens the dialog on made-up layers (serve.py), and the dialog as a user has it before them."""
import json
import os
import pathlib
import shutil
import subprocess

import desktop
from desktop import click, find, find_all, wait_for


# What the dialog remembers besides its settings.
STATE = pathlib.Path(os.environ["GIMP3_DIRECTORY"]) / "grainless" / "dialog.ini"
SETTINGS = pathlib.Path(os.environ["GIMP3_DIRECTORY"]) / "plug-in-settings"
# What the two dialogs are called, and their procedures.
PICTURE = ("Grainless Denoise", "plug-in-grainless-denoise")
STACK = ("Grainless Denoise Layer Stack", "plug-in-grainless-denoise-stack")


def settings_file(subject):
    """Of what was set last."""
    SETTINGS.mkdir(exist_ok=True)
    return SETTINGS / f"GimpProcedureConfigRun-{subject[1]}.last"


class Session:
    def __init__(self, work):
        self.work = work
        self.number = 0
        for path in [*work.glob("answer[0-9]*"), *work.glob("request.json")]:
            path.unlink()
        shutil.copy(pathlib.Path(__file__).with_name("serve.py"), work)
        self.log = open(work / "gimp.log", "w", encoding="utf-8")
        script = f"WORK={str(work)!r}; exec(open({str(work / 'serve.py')!r}).read())"
        environment = dict(os.environ)
        if "GRAINLESS_PAUSE_LIBRARY" in environment:  # tests/gimp/pause.cpp
            environment["LD_PRELOAD"] = environment["GRAINLESS_PAUSE_LIBRARY"]
        self.process = subprocess.Popen(["gimp", "--no-splash", "--batch-interpreter=python-fu-eval", "-b", script],
                                        stdout=self.log, stderr=subprocess.STDOUT, env=environment)

    def start(self, call, *arguments):
        self.number += 1
        part = self.work / "request.part"
        part.write_text(json.dumps({"number": self.number, "call": call, "arguments": arguments}), encoding="utf-8")
        os.replace(part, self.work / "request.json")

    def finish(self, patience=desktop.PATIENCE):
        path = self.work / f"answer{self.number}.json"
        wait_for("an answer from GIMP, or its end", lambda: path.exists() or self.process.poll() is not None, patience)
        assert path.exists(), f"GIMP has ended with status {self.process.returncode}"
        answer = json.loads(path.read_text(encoding="utf-8"))
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def ask(self, call, *arguments):
        self.start(call, *arguments)
        return self.finish()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()


class Window:
    """The dialog of a procedure on the session's layers."""

    def __init__(self, session, title="Grainless Denoise", procedure="plug-in-grainless-denoise", as_before=False):
        """as_before: with the view, zoom and size of the last time."""
        self.session = session
        if not as_before:
            STATE.unlink(missing_ok=True)
        self.title = title
        session.start("run_filter", procedure)
        wait_for("the dialog", lambda: self.root)
        self.frame(title)

    @classmethod
    def already_open(cls, session, title):
        """A dialog that was not opened by the session, as from the menu."""
        window = cls.__new__(cls)
        window.session, window.title = session, title
        wait_for("the dialog", lambda: window.root)
        window.frame(title)
        return window

    @property
    def root(self):
        """Asked for anew: news of windows that come and go are taken from the main loop."""
        return desktop.application("grainless")

    def frame(self, title):
        return wait_for(f"the window '{title}'", lambda: find(self.root, "dialog", title) or find(self.root, "frame", title)
                        or find(self.root, "file chooser", title) or find(self.root, "alert", title))

    def widget(self, role, name):
        return wait_for(f"{role} {name}", lambda: find(self.root, role, name))

    def press(self, name):
        click(self.widget("button", name))

    def choose(self, combo, item):
        choose_in(self.widget("combo box", combo), item)

    def selected(self, combo):
        """The text that the combo box shows."""
        selection = self.widget("combo box", combo).get_selection_iface()
        child = selection.get_selected_child(0)
        return child.get_name() if child else None

    def number(self, name):
        return self.widget("spin button", name).get_value_iface().get_current_value()

    def set_number(self, name, value):
        assert self.widget("spin button", name).get_value_iface().set_current_value(value)

    def labels(self):
        return [label.get_name() for label in find_all(self.root, "label", lambda text: True)]

    def label(self, *parts):
        """The first label that holds one of the parts, or None."""
        return next((text for text in self.labels() if any(part in text for part in parts)), None)

    def end(self, button, patience=desktop.PATIENCE):
        """Presses the dialog's button; returns what the filter answered."""
        self.press(button)
        return self.gone(patience)

    def gone(self, patience=desktop.PATIENCE):
        answer = self.session.finish(patience)
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)
        return answer


def items(box):
    """What a combo box offers, in its order."""
    menu = box.get_child_at_index(0)
    return [menu.get_child_at_index(i).get_name() for i in range(menu.get_child_count())]


def choose_in(box, item):
    """Of a combo box."""
    names = wait_for(f"{item} in {box.get_name()}", lambda: (lambda found: found if item in found else None)(items(box)))
    assert box.get_selection_iface().select_child(names.index(item))


def outline(widget, depth=0):
    """The tree of widgets as text, for looking at a failure."""
    if widget is None:
        return ""
    line = "  " * depth + f"{widget.get_role_name()} '{widget.get_name()}'\n"
    return line + "".join(outline(widget.get_child_at_index(i), depth + 1) for i in range(widget.get_child_count()))


def press_with_mouse(widget):
    """As a user does, where a widget wants to know which event it was."""
    x, y, width, height = desktop.extents(widget)
    subprocess.run(["xdotool", "mousemove", str(x + width // 2), str(y + height // 2), "click", "1"], check=True)


def keys(*names):
    subprocess.run(["xdotool", "key", "--clearmodifiers", *names], check=True)


def active_title():
    """The title of the window that gets the keyboard's input."""
    return subprocess.run(["xdotool", "getactivewindow", "getwindowname"], capture_output=True, text=True,
                          check=False).stdout.strip()


def preset_menu(window, item):
    press_with_mouse(window.widget("toggle button", "Preset menu"))
    click(wait_for(item, lambda: (lambda found: found if found and desktop.is_showing(found) else None)(
        find(window.root, "menu item", item))))
