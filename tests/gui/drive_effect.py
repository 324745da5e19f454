# SPDX-License-Identifier: MIT
"""The effect on the canvas: GIMP's own dialog for it, undo, the filter's dialog, a lost helper: drive_effect.py WORK"""
import os
import pathlib
import signal
import sys
import time

import desktop
from desktop import click, find_all, wait_for
from drive_live import menu_item
from session import PICTURE, Session, Window, settings_file
from steps import main as run

EFFECT = "grainless:denoise"
HERE = pathlib.Path(__file__).resolve().parent
# Seconds between two answers of GIMP's while the processor computes; one that two free cores give takes 0.3.
LIMIT = 3


class Steps:
    def __init__(self, session):
        self.session = session

    def open(self, width=700, height=500):
        self.session.ask("open_layer", width, height)
        self.session.ask("load", str(HERE / "serve_effect.py"))

    def shown(self, role, matches):
        return next((widget for widget in find_all(desktop.application("gimp"), role, matches)
                     if desktop.is_showing(widget)), None)

    def menu(self, prefix):
        item = wait_for(prefix, lambda: next(iter(find_all(desktop.application("gimp"), "menu item",
                                                           lambda name: name.startswith(prefix))), None))
        wait_for(f"{prefix} to be possible", lambda: desktop.is_sensitive(item), 20)
        click(item)

    def press(self, name, role="button"):
        click(wait_for(name, lambda: self.shown(role, lambda text: text == name)))

    def effects(self):
        return self.session.ask("effects")

    def on_the_canvas(self):
        """Preview and split view of GIMP's own dialog; OK leaves the effect on the layer, with the filter's pixels."""
        self.open()
        before = self.session.ask("state")["pixels"]
        self.menu("Grainless Denoise as Effect")
        box = wait_for("the preview", lambda: self.shown("check box", lambda name: name == "Split view"))
        for label in ("Measure the noise automatically", "Preview", "Merge filter"):
            assert self.shown("check box", lambda name, label=label: name == label), label
        click(box)
        time.sleep(1)
        self.press("OK")
        wait_for("the effect", lambda: [effect["operation"] for effect in self.effects()] == [EFFECT])
        assert self.session.ask("seen") == self.session.ask("by_the_filter")
        assert self.session.ask("state")["pixels"] == before, "the layer's own pixels changed"

    def undone_and_redone(self):
        with_effect = self.session.ask("seen")
        self.menu("Undo Grainless")
        wait_for("no effect", lambda: not self.effects())
        assert self.session.ask("seen") != with_effect
        self.menu("Redo Grainless")
        wait_for("the effect again", lambda: len(self.effects()) == 1)
        assert self.session.ask("seen") == with_effect

    def answers(self):
        """GIMP's window goes on while the processor computes."""
        self.open(2400, 1600)
        self.session.start("longest_silence", 12.0)  # at once: looking for widgets takes as long as the computing
        self.menu("Grainless Denoise as Effect")
        silence = self.session.finish()
        print(f"# GIMP's longest silence: {silence:.2f} s", flush=True)
        self.press("Cancel")
        assert silence < LIMIT, f"{silence:.2f} s"
        wait_for("no effect", lambda: not self.effects())

    def helper(self):
        found = [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                 if self.command(path).startswith(str(self.program()))]
        return found[0] if found else None

    @staticmethod
    def program():
        return (pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "../../../grainless/grainless-engine").resolve()

    @staticmethod
    def command(path):
        try:
            return path.read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    @staticmethod
    def worked(pid):
        """Seconds of processor time."""
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def helper_lost(self):
        """The helper killed while the canvas is computed: GIMP tells of it, and the pixels are right."""
        self.open(3000, 2000)
        before = self.helper()  # of the steps before
        worked = self.worked(before) if before else 0
        self.menu("Grainless Denoise as Effect")
        killed = before or wait_for("the helper", self.helper)
        wait_for("its work", lambda: self.worked(killed) > worked + 0.2)
        os.kill(killed, signal.SIGKILL)
        wait_for("another helper", lambda: self.helper() not in (None, killed))
        self.press("OK")
        wait_for("the effect", lambda: len(self.effects()) == 1)
        assert self.session.ask("seen") == self.session.ask("by_the_filter")
        told = (self.session.work / "gimp.log").read_text(encoding="utf-8", errors="replace")
        message = wait_for("the message", lambda: "process was lost" in told or find_all(
            desktop.application("gimp"), "label", lambda text: "process was lost" in text))
        assert message

    def by_the_dialog(self):
        """"As an adjustable layer effect" in the filter's own dialog."""
        self.open()
        before = self.session.ask("state")["pixels"]
        window = Window(self.session)
        window.choose("Method", "Non-Local Means")
        click(window.widget("check box", "As an adjustable layer effect"))
        answer = window.end("OK")
        assert answer["status"] == "success", answer
        assert answer["pixels"] == before
        assert [effect["values"]["method"] for effect in self.effects()] == ["nlm"]
        assert self.session.ask("seen") == self.session.ask("by_the_filter", {"method": "nlm"})
        window = Window(self.session)
        # It was remembered, and would work on what the first one makes.
        wait_for("word of the effect below", lambda: window.label("this one works on what they make"))
        click(window.widget("check box", "As an adjustable layer effect"))
        wait_for("word of the effect above", lambda: window.label("they come on top"))
        assert not window.label("this one works on what they make")
        window.end("Cancel")

    def channels_switched_off(self):
        """What is switched on later changes, too: that is said before OK."""
        self.open()
        settings_file(PICTURE).unlink(missing_ok=True)
        click(menu_item(self.session, "Grainless Denoise"))
        window = Window.already_open(self.session, "Grainless Denoise")
        wait_for("the preview", lambda: window.label("Preview by"))
        choice = window.widget("check box", "As an adjustable layer effect")

        def is_said(said):
            wait_for("the sentence" if said else "its end",
                     lambda: bool(window.label("only until they are switched on")) == said, 20)
        click(choice)
        for off in (True, False, True):
            self.session.ask("switch_red", not off)
            is_said(off)
        click(choice)
        is_said(False)
        window.press("Cancel")
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    steps = Steps(session)
    return run(session, [
        ("the effect on the canvas, with a split view", steps.on_the_canvas),
        ("undone and redone", steps.undone_and_redone),
        ("from the filter's own dialog", steps.by_the_dialog),
        ("channels switched off", steps.channels_switched_off),
        ("the window answers while the canvas is computed", steps.answers),
        ("a lost helper costs a message", steps.helper_lost),
    ])


if __name__ == "__main__":
    sys.exit(main())
