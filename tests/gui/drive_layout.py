# SPDX-License-Identifier: MIT
"""Whatever opens, closes or is told, the preview stays where it is and as large as it is, in every language:
drive_layout.py WORK"""
import gettext
import os
import pathlib
import re
import shutil
import sys
import time

import desktop
from desktop import click, find, find_all, wait_for
from drive_live import menu_item
from drive_view import View
from session import PICTURE, STATE, Session, settings_file
from steps import main as run

HERE = pathlib.Path(__file__).resolve().parent
LANGUAGES = ["en", *(HERE.parents[1] / "po" / "LINGUAS").read_text(encoding="utf-8").split()]
PLUG_IN = pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless" / "grainless"
PRESETS = STATE.with_name("presets")
QUICK = '(method "nlm")\n(quality "fast")\n'  # what is seen of the preview is where it stands
THEME = STATE.parents[1] / "theme.css"  # which GIMP writes, and its plug-ins read whenever it changes
SCREEN = 1600  # pixels from left to right
PRESET = "A preset whose name says all that it is good for, which is more than the controls are wide"
LAYER = "とても長い名前のレイヤー, for letters that are higher than others, and longer than one line of the dialog"
WIDTH, HEIGHT, COUNT = 1600, 1200, 12  # of the layers: denoising them is never done before it is cancelled
FIRST_BELOW = "Hot pixels"  # of the advanced tweaks
CONTROLS = ("spin button", "combo box", "check box", "toggle button", "button", "label")


def speak(language, work):
    """The plug-in alone does, the next time it starts; GIMP stays English. GNU gettext needs a locale that is not called C;
    its other parts may be C's."""
    locales = work / "locales"
    shutil.copytree("/usr/lib/locale/C.utf8", locales / f"{language}.UTF-8", dirs_exist_ok=True)
    variables = f"LOCPATH='{locales}' LC_ALL={language}.UTF-8 LANGUAGE={language}" if language != "en" else ""
    (work / "language").write_text(f"export {variables}\n", encoding="utf-8")


def replace_plug_in(work):
    """By a script that starts it in the language of the moment, under its own name."""
    itself = PLUG_IN.with_name("grainless-itself")
    if PLUG_IN.read_bytes()[:4] == b"\x7fELF":
        shutil.move(PLUG_IN, itself)
    PLUG_IN.write_text(f"#!/bin/bash\n. '{work / 'language'}'\nexec -a \"$0\" '{itself}' \"$@\"\n", encoding="utf-8")
    PLUG_IN.chmod(0o755)


class Layout:
    """The dialog in one language, opened from the menu, and where its preview is as soon as it is there."""

    def __init__(self, session, language):
        self.session = session
        self.text = gettext.translation("grainless", PLUG_IN.with_name("locale"), [language], fallback=True).gettext
        self.gimp = gettext.translation("gimp30-libgimp", "/usr/share/locale", [language], fallback=True).gettext
        speak(language, session.work)
        STATE.unlink(missing_ok=True)
        settings_file(PICTURE).write_text(QUICK, encoding="utf-8")
        click(menu_item(session, "Grainless Denoise"))
        self.window = View.already_open(session, self.text("Grainless Denoise"))
        self.preview = self.window.area(self.text("Preview"))
        places = []
        wait_for("a window that rests", lambda: places.append(self.places()) or places[-1:] == places[-2:-1], 20)
        self.first = places[-1]

    def name(self, label):
        return self.text(label).replace("_", "")

    def button(self, label):
        """One of GIMP's own."""
        return self.window.widget("button", self.gimp(label).replace("_", ""))

    def places(self):
        """Of the preview and of the dialog's window, on the screen."""
        return desktop.extents(self.preview), desktop.extents(desktop.window_of(self.preview))

    def says(self, message):
        """The longest of the words between what is filled in."""
        words = max(re.split(r"%[.\d]*[sdf]", self.text(message)), key=len).strip()
        wait_for(f"'{words}'", lambda: self.window.label(words), 60)

    def stays(self, what):
        """After time for it to move."""
        time.sleep(0.3)
        places = self.places()
        assert places == self.first, f"{what}: preview and window at {places} instead of {self.first}"

    def cut_off(self):
        """Of what is beside the preview."""
        (x, _, width, _), window = self.places()
        left, end = x + width, window[0] + window[2]
        found = []
        for role in CONTROLS:
            for widget in find_all(desktop.window_of(self.preview), role, lambda name: True):
                x, _, width, _ = desktop.extents(widget)
                if desktop.is_showing(widget) and x >= left and x + width > end:
                    found.append(f"{role} '{widget.get_name()}': {x} to {x + width}, and the window ends at {end}")
        return found

    def nothing_is_cut_off(self):
        found = self.cut_off()
        assert not found, found

    def choose(self, combo, item):
        self.window.choose(self.name(combo), item)


def noise_is_told(layout):
    layout.says("unsure: texture or noise?")
    layout.says("Found and replaced: %s.")
    layout.stays("unsure noise, hot pixels")


def advanced_opens(layout):
    expander = layout.window.widget("toggle button", layout.name("Advanced twea_ks"))
    def there():
        box = find(layout.window.root, "combo box", layout.name(FIRST_BELOW))
        return box is not None and desktop.is_showing(box)

    for _ in range(2):
        click(expander)
        wait_for("the controls below it", there, 20)
        layout.stays("advanced open")
        click(expander)
        wait_for("them gone", lambda: not there(), 20)
        layout.stays("advanced closed")
    click(expander)
    wait_for("the controls below it", there, 20)


def other_device_is_told(layout):
    layout.choose("De_vice", layout.text("Graphics card (CUDA)"))
    layout.says("Preview by %s in %.2f s")
    layout.stays("a card")
    layout.choose("De_vice", layout.text("Automatic"))


def part_is_measured(layout):
    click(layout.window.widget("button", layout.name("Measure the visib_le part")))
    layout.says("Noise there: %.1f")
    layout.stays("a part measured")


def preset_is_long(layout):
    layout.choose("Preset", PRESET)
    wait_for("the preset", lambda: layout.window.selected(layout.text("Preset")) == PRESET, 20)
    layout.stays("a long preset")
    layout.nothing_is_cut_off()


def layer_is_told(layout):
    """What is to be known of it, and why it can't be denoised: with its name."""
    layout.session.ask("add_effects")
    layout.says("The preview shows “%s” without its layer effects: they come on top.")
    layout.stays("layer effects")
    layout.session.ask("lock_all", True)
    wait_for("no OK", lambda: not desktop.is_sensitive(layout.button("_OK")), 20)
    layout.stays("locked layers")
    layout.session.ask("lock_all", False)
    layout.session.ask("delete_effects")
    wait_for("OK", lambda: desktop.is_sensitive(layout.button("_OK")), 20)


def work_is_told(layout):
    click(layout.button("_OK"))
    bar = layout.window.widget("progress bar", layout.text("Progress"))
    wait_for("a layer's name beside the bar", lambda: LAYER in (bar.get_description() or ""), 60)
    layout.stays("at work")
    click(layout.button("_Cancel"))
    wait_for("the dialog", lambda: desktop.is_sensitive(layout.button("_OK")), 30)
    layout.stays("stopped")


def speaks(session, language):
    layout = Layout(session, language)
    for body in (noise_is_told, advanced_opens, other_device_is_told, part_is_measured, preset_is_long, layer_is_told,
                 work_is_told):
        body(layout)
    click(layout.button("_Cancel"))
    wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


def letters_grow(session):
    """While the dialog is open, as by GIMP's preferences or a desktop's large text: all controls stay whole, and where the
    screen is too small for them, the window and its buttons stay on it."""
    layout = Layout(session, "en")
    usual = THEME.read_text(encoding="utf-8")
    def grow(points):
        THEME.write_text(usual + f"* {{ font-size: {points}pt; }}\n", encoding="utf-8")

    try:
        grow(18)
        wait_for("a window that is wide enough", lambda: layout.places()[1][2] > layout.first[1][2] and not layout.cut_off(), 10)
        plot = desktop.screenshot(layout.window.area("Noise over brightness"))
        assert (plot[:, 0] == plot[0, 0]).all() and (plot[-1] == plot[-1, 0]).all(), "the plot's texts are cut off"
        grow(25)
        wait_for("controls that scroll sideways", layout.cut_off, 10)
        left, _, width, _ = layout.places()[1]
        assert left >= 0 and left + width <= SCREEN, f"the window stands at {left} to {left + width}"
    finally:
        THEME.write_text(usual, encoding="utf-8")
        click(layout.button("_Cancel"))
    wait_for("the dialog's end", lambda: desktop.application("grainless") is None)


def steps(session):
    session.ask("load", str(HERE / "serve_layout.py"))
    session.ask("open_talkative", WIDTH, HEIGHT, COUNT, LAYER)
    for language in LANGUAGES:
        yield language, lambda language=language: speaks(session, language)
    yield "letters grow", lambda: letters_grow(session)


def main():
    work = pathlib.Path(sys.argv[1])
    replace_plug_in(work)
    speak("en", work)
    PRESETS.mkdir(parents=True, exist_ok=True)
    (PRESETS / f"{PRESET}.preset").write_text("method = bm3d\nquality = fast\n", encoding="utf-8")
    session = Session(work)
    return run(session, steps(session))


if __name__ == "__main__":
    sys.exit(main())
