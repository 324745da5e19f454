# SPDX-License-Identifier: MIT
"""Photographs the dialogs for './dev screenshots': take_pictures.py OUT LANGUAGE LOCALE_DIR PHOTO FRAME…"""
import gettext
import os
import pathlib
import shutil
import subprocess
import sys
import time

import desktop
from desktop import find, find_all, wait_for
from session import Session, Window, active_title, keys

# The views' items in their order; names of the files in every language.
VIEWS = ["result", "original", "split", "side-by-side", "removed-noise"]


def speak(language, work):
    """Makes a locale of this language's name: GNU gettext needs one, and its other parts may be C's."""
    if language == "en":
        return
    locales = work / "locales"
    shutil.copytree("/usr/lib/locale/C.utf8", locales / f"{language}.UTF-8", dirs_exist_ok=True)
    os.environ |= {"LOCPATH": str(locales), "LC_ALL": f"{language}.UTF-8", "LANGUAGE": language}


class Pictures:
    def __init__(self, session, folder, text, title="Grainless Denoise", procedure="plug-in-grainless-denoise"):
        self.window = Window(session, text(title), procedure)
        self.title, self.folder, self.text = text(title), folder, text
        self.done = text("Preview by %s in %.2f s").split("%s")[0]

    def settled(self):
        """The exact preview, which the coarse one's text may hold the words of, and the diagram a little later."""
        wait_for("a finished preview", lambda: any(text.startswith(self.done) for text in self.window.labels()))
        time.sleep(1)

    def take(self, name):
        self.settled()
        wait_for("the dialog in front", lambda: active_title() == self.title)
        path = self.folder / f"{name}.png"
        found = subprocess.run(["xdotool", "getactivewindow"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run(["import", "-window", found, path], check=True)
        subprocess.run(["mogrify", "-strip", "-define", "png:compression-level=9", path], check=True)
        print(path, flush=True)

    def choose(self, combo, index):
        assert self.window.widget("combo box", self.text(combo)).get_selection_iface().select_child(index)

    def take_stack(self):
        """The middle one of five layers, before and after."""
        self.choose("View", VIEWS.index("split"))
        self.settled()
        self.choose("Layer", 2)
        time.sleep(0.5)  # longer than the preview's own delay after a change
        self.take("stack")

    def leave(self):
        keys("Escape")
        self.window.gone()

    def take_all(self):
        for index, name in enumerate(VIEWS):
            self.choose("View", index)
            self.take(name)
        self.choose("View", 0)
        expander = wait_for("the expander", lambda: find_all(self.window.root, "toggle button", lambda name: True)
                            and find(self.window.root, "toggle button", self.text("Advanced twea_ks").replace("_", "")))
        desktop.click(expander)
        wait_for("the controls below it", lambda: find(self.window.root, "spin button",
                                                       self.text("_Patch size").replace("_", "")))
        self.take("advanced")


def main():
    folder, language, locale, photo, *frames = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    speak(language, folder.parent)
    text = gettext.translation("grainless", locale, [language], fallback=True).gettext
    session = Session(folder.parent)
    try:
        wait_for("GIMP", lambda: desktop.application("gimp"))
        session.ask("open_file", str(photo))
        pictures = Pictures(session, folder, text)
        pictures.take_all()
        pictures.leave()
        session.ask("open_file", *frames)
        stack = Pictures(session, folder, text, "Grainless Denoise Layer Stack", "plug-in-grainless-denoise-stack")
        stack.take_stack()
        stack.leave()
    finally:
        session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
