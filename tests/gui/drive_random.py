# SPDX-License-Identifier: MIT
"""Random settings and images in the dialog: what its preview shows is what the filter makes of a copy of the image without a
dialog, and what OK gives: drive_random.py WORK

GRAINLESS_RANDOM=N draws (20), or GRAINLESS_SECONDS of them; GRAINLESS_SEED. Some draws share a dialog, which stays open
while settings, selection, pixels, size and format change. GRAINLESS_DIALOG=K repeats one dialog of a seed.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import numpy as np

import desktop
from desktop import click, find, wait_for
from drive_live import Live
from drive_soak import PRECISIONS, as_config, draw_settings
from drive_view import xdotool
from places import places
from session import PICTURE, STACK, STATE, Session, keys, settings_file
from steps import run_steps

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 40  # seconds until the preview is right, on machines that are busy
DRAWS = 4  # at most in one dialog
# Control → key, values.
NUMBERS = {"Strength": ("strength", (0, 1, 20, 50, 100, 150, 200)), "Lightness noise": ("luma", (0, 60, 100, 200)),
           "Colour noise": ("chroma", (0, 60, 100, 200)), "Detail given back": ("detail", (0, 30, 100)),
           "Noise level": ("sigma", (0, 0.5, 7, 22, 60)), "Search window": ("search", (0, 3, 5, 9, 15)),
           "Patch size": ("patch", (0, 2, 3, 4, 7, 8, 10)), "Reference step": ("step", (0, 1, 2, 3)),
           "Group size": ("group", (0, 1, 2, 8, 16)), "Adjacent layers": ("depth", (1, 2, 3))}
CHOICES = {"Method": "method", "Quality": "quality", "Transform": "transform", "Picture compared": "matching",
           "Stages taken": "stages", "Weight of the centre pixel": "centre", "Weights by": "weights", "Look for": "noise",
           "Number of scales": "scales", "Hot pixels": "impulse"}
VIEWS = ("Result", "Original", "Split", "Side by side", "Removed noise")
ZOOMS = ("Fit", "25", "50", "100", "200", "400")


def close_messages():
    """What the filter had to say at its end stands in a window that may cover the next dialog."""
    found = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", "^GIMP Message$"], capture_output=True, text=True,
                           check=False).stdout.split()
    for window in found:
        xdotool("windowactivate", "--sync", window, "key", "Escape")


class Picture:
    """An image in GIMP, as drawn, and as it was changed since."""

    def __init__(self, session):
        self.session = session
        self.subject = random.choice([PICTURE, PICTURE, STACK])
        large = random.random() < 0.1  # than the preview
        self.size = (random.randint(900, 1100), random.randint(700, 800)) if large else (random.randint(1, 330),
                                                                                           random.randint(1, 240))
        self.count = random.randint(2, 4) if self.subject == STACK else random.choice([1, 1, 1, 2])
        self.precision, self.base = random.choice([*PRECISIONS, *["U8_NON_LINEAR"] * 8]), random.choice(["RGB", "RGB", "GRAY"])
        self.changed = []
        self.alpha = random.random() < 0.3 and not large
        self.kind = "mask" if self.count == 1 and random.random() < 0.15 else "layer"
        session.ask("random_open", self.count, *self.size, self.base, self.precision, self.alpha, self.count, self.kind, None,
                    random.randint(0, 10**6))
        if random.random() < 0.4:
            self.select()

    def __str__(self):
        kind = self.base + "A" * self.alpha
        return (f"{self.count} {self.kind} of {self.size[0]} × {self.size[1]} {kind} {self.precision}, {self.subject[1]}"
                + "".join(f", {one}" for one in self.changed))

    @property
    def exact(self):
        """Whether the screen has the layer's own values."""
        return self.precision == "U8_NON_LINEAR" and self.kind == "layer"

    def ask(self, *call):
        self.changed.append(" ".join(map(str, call)))
        self.session.ask(*call)

    def select(self):
        width, height = self.size
        self.ask(random.choice(["select", "select_ellipse"]), random.randint(-9, width), random.randint(-9, height),
                 random.randint(1, width), random.randint(1, height))
        if random.random() < 0.5:
            self.ask("feather", random.randint(1, 30))

    def scale(self):
        self.size = random.randint(1, 330), random.randint(1, 240)
        self.ask("scale", *self.size)

    def convert(self):
        self.precision = random.choice(PRECISIONS)
        self.ask("convert", self.precision)

    def to_grey(self):
        self.base = "GRAY"
        self.ask("to_grey")

    def switch_channels(self):
        names = ("GRAY",) if self.base == "GRAY" else ("RED", "GREEN", "BLUE")
        self.ask("switch_channels", *(name for name in names if random.random() < 0.7))

    def lock(self):
        self.ask("lock", random.randrange(-1, self.count), random.random() < 0.5)

    def change(self):
        random.choice([self.select, self.select, lambda: self.ask("select_none"), self.scale, self.convert, self.to_grey,
                       self.switch_channels, self.lock,
                       lambda: self.ask("repaint", random.randrange(self.count), random.randint(0, 10**6))])()


class Dialog(Live):
    """Opened with drawn settings, which it then changes as a user does."""

    def __init__(self, session, picture, choices):
        self.picture_in_gimp, self.subject, self.choices = picture, picture.subject, choices
        self.settings = draw_settings(self.subject)
        self.settings["sigma"] = round(self.settings["sigma"], 1)  # as its control has it
        settings_file(self.subject).write_text(as_config(self.settings), encoding="utf-8")
        STATE.unlink(missing_ok=True)
        super().__init__(session, settle=False, title=self.subject[0])
        self.index = next(i for i in range(picture.count) if picture.count == 1
                          or self.window.selected("Layer") == f"layer {i + 1}")
        click(self.window.widget("toggle button", "Advanced tweaks"))

    def control(self, role, name):
        found = find(self.window.root, role, name)
        return found if found and desktop.is_sensitive(found) else None

    def change_number(self):
        name, (key, values) = random.choice(list(NUMBERS.items()))
        if spin := self.control("spin button", name):
            value = random.choice(values)
            if value < spin.get_value_iface().get_minimum_value():
                return
            spin.get_value_iface().set_current_value(value)
            self.settings[key] = spin.get_value_iface().get_current_value()
            if key in ("search", "patch", "step", "group", "depth"):
                self.settings[key] = int(self.settings[key])

    def change_choice(self):
        name, key = random.choice(list(CHOICES.items()))
        if key in self.choices[self.subject] and self.control("combo box", name):
            value, label = random.choice(self.choices[self.subject][key])
            self.window.choose(name, label)
            self.settings[key] = value

    def change_measuring(self):
        click(self.window.widget("check box", "Measure the noise automatically"))
        self.settings["auto-sigma"] = not self.settings["auto-sigma"]

    def change_layer(self):
        if self.picture_in_gimp.count > 1:
            self.index = random.randrange(self.picture_in_gimp.count)
            self.picture_in_gimp.changed.append(f"layer {self.index + 1} shown")
            self.window.choose("Layer", f"layer {self.index + 1}")

    def look_elsewhere(self):
        """Which has to make no difference."""
        self.window.pick("View", random.choice(VIEWS))
        self.window.pick("Zoom", random.choice(ZOOMS))
        x, y = self.window.middle()
        xdotool("mousemove", x, y, "mousedown", 1, "mousemove", x + random.randint(-200, 200), y + random.randint(-200, 200),
                "mouseup", 1, "mousemove", 1, 1)
        keys(random.choice(["Left", "Up", "Right", "Down"]))

    def change(self):
        for _ in range(random.randint(1, 3)):
            random.choice([self.change_number, self.change_number, self.change_number, self.change_choice, self.change_choice,
                           self.change_measuring, self.change_layer, self.look_elsewhere, self.picture_in_gimp.change])()
            if random.random() < 0.3:
                time.sleep(random.uniform(0, 0.4))

    def expected(self):
        """The filter's answer on a copy, and the pixels with alpha of the layer that shows."""
        if not self.settings["auto-sigma"]:  # what was measured stands there when that is switched off
            self.settings["sigma"] = self.window.number("Noise level")
        path = self.session.work / "expected"
        answer = self.session.ask("random_expected", self.subject[1], self.settings, str(path))
        width, height = self.picture_in_gimp.size
        pixels = np.frombuffer(pathlib.Path(f"{path}{self.index}").read_bytes(), np.uint8)
        return answer, pixels.reshape(height, width, 4)

    def shown(self, expected):
        """The preview's part of the picture, and where in it that is."""
        shot = self.window.shot()
        (height, width), (rows, columns) = expected.shape[:2], shot.shape[:2]
        if height <= rows and width <= columns:
            return self.window.picture(width, height), (0, 0)
        top, left = max(0, (rows - height) // 2), max(0, (columns - width) // 2)
        shot = shot[top:top + min(rows, height), left:left + min(columns, width)]
        for part in range(0, shot.shape[0] - 60, 60):  # a selection's outline may lie in one of them
            strip = shot[part:part + 60].astype(np.int16)
            found = [(y - part, x) for y, x in places(expected[..., :3].astype(np.int16), strip, 1)
                     if part <= y <= height - shot.shape[0] + part]
            if found:  # stripes look alike in many places
                return shot, min(found, key=lambda place: self.off_at(place, expected, shot))
        return None, None

    @staticmethod
    def off_at(place, expected, shot):
        """Mean difference of every fourth row and column, were the shot there."""
        there = expected[place[0]:place[0] + shot.shape[0]:4, place[1]:place[1] + shot.shape[1]:4, :3]
        return np.abs(there.astype(int) - shot[::4, ::4]).mean()

    def difference(self, expected):
        """Between the preview and the pixels, where those are opaque, in words; none where there is none."""
        close_messages()
        shown, place = self.shown(expected)
        if shown is None:
            return "the preview shows another part than there is"
        part = np.s_[place[0]:place[0] + shown.shape[0], place[1]:place[1] + shown.shape[1]]
        compared = (expected[part][..., 3] == 255) & ~self.outline()[part]
        off = np.abs(shown.astype(int) - expected[part][..., :3]).max(axis=-1)[compared]
        if off.size == 0 or off.max() == 0 or (not self.picture_in_gimp.exact and off.max() == 1 and (off > 0).mean() < 0.01):
            return ""
        return f"{(off > 0).sum()} of {off.size} pixels differ, by up to {off.max()}"

    def compare(self):
        self.window.pick("View", "Result")
        self.window.pick("Zoom", "100")
        answer, expected = self.expected()
        if answer["status"] != "success":
            wait_for(f"OK off, as of “{answer['message']}”", lambda: not self.ok_possible(), PATIENCE)
            return answer
        said = []
        try:
            wait_for("the preview", lambda: (said.append(self.difference(expected)), not said[-1])[1], PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{said[-1]}; {self.window.label('Preview by', 'oarse')}") from error
        return answer

    def end(self, answer):
        """OK, or Cancel where OK can't be."""
        before = self.session.ask("state")["all"]
        if answer["status"] == "success" and random.random() < 0.9 and self.ok_possible():
            self.leave("OK")
            self.expect_pixels(before, answer)
        else:
            self.leave("Cancel")
            assert self.session.ask("state")["all"] == before, "Cancel changed pixels"

    def only_rounded(self):
        """GIMP 3.0 merges by way of RGBA, which rounds grey floats (of any plug-in) wherever the selection's bounds reach; and
        a copy of the image has its selection in narrower bounds."""
        picture = self.picture_in_gimp
        if (picture.base, picture.kind) == ("RGB", "layer") or not picture.precision.startswith("FLOAT"):
            return False
        return self.session.ask("off_from_expected", str(self.session.work / "expected")) < 1e-6

    def expect_pixels(self, before, answer):
        """Those of the filter without a dialog; else what they are instead."""
        after = self.session.ask("state")["all"]
        if after == answer["all"] or self.only_rounded():
            return
        again = self.session.ask("state")["all"]
        what = "the old ones" if after == before else "others"
        late = "" if again == after else ", which were the right ones later" if again == answer["all"] else ", which changed"
        raise AssertionError(f"OK gave {what}{late}")


def draw_dialog(session, choices, tell):
    picture = Picture(session)
    tell(f"{picture}")
    dialog = Dialog(session, picture, choices)
    settings = dialog.settings
    try:
        answer = dialog.compare()
        for i in range(random.randint(1, DRAWS)):
            tell()
            if i:
                dialog.change()
                answer = dialog.compare()
        dialog.end(answer)
    except Exception:
        print(f"# {picture}\n# {json.dumps(settings)}", flush=True)
        raise


def leave_dialog():
    if desktop.application("grainless"):
        keys("Escape")
        wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


def dialogs(session, seed):
    """As many as there is time or number for; each from a seed of its own."""
    for part in ("serve_live.py", "serve_soak.py", "serve_random.py"):
        session.ask("load", str(HERE / part))
    choices = {subject: session.ask("random_choices", subject[1]) for subject in (PICTURE, STACK)}
    number, seconds = int(os.environ.get("GRAINLESS_RANDOM", "20")), float(os.environ.get("GRAINLESS_SECONDS", "0"))
    one = os.environ.get("GRAINLESS_DIALOG")
    begun, done, k = time.monotonic(), 0, int(one or 0)

    def tell(what=None):
        nonlocal done
        done += what is None
    while (done < number or time.monotonic() < begun + seconds) and (one is None or k == int(one)):
        random.seed(f"{seed} {k}")
        yield f"GRAINLESS_SEED={seed} GRAINLESS_DIALOG={k}", lambda: draw_dialog(session, choices, tell)
        k += 1
    print(f"# {done} draws in {k} dialogs, {time.monotonic() - begun:.0f} s", flush=True)


def main():
    session = Session(pathlib.Path(sys.argv[1]))
    seed = os.environ.get("GRAINLESS_SEED", str(int(time.time())))
    try:
        failed = run_steps(session, dialogs(session, seed), leave_dialog)
    finally:
        session.close()
    if not failed:
        print("# end", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
