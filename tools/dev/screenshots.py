#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of the dialogs in the real GIMP, each view in each language.

usage: screenshots.py PLUGIN_DIR OUT_DIR [LANGUAGE…]

Without a LANGUAGE: English and all of po/LINGUAS. Leaves OUT_DIR/LANGUAGE/VIEW.png, and of the
English ones smaller copies in OUT_DIR/manual: those are the pictures of docs/manual, with those of
the kinds of noise (noise_kinds.py). The photograph is the demo's.
"""

import pathlib
import subprocess
import sys

from PIL import Image

import noise_kinds
from demo import GIMP_ENV, make_burst, make_photograph
from steps import fail, step

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The manual's pictures: view → name, and how many colours are enough where they are not looked at.
MANUAL = {
    "split": ("dialog", None),
    "removed-noise": ("removed-noise", 128),
    "advanced": ("advanced", 256),
    "stack": ("stack", 256),
}
FRAMES = 5  # of the burst
DRIVER = ROOT / "tests" / "gui" / "take_pictures.py"


def main():
    plug_ins, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    known = ["en"] + (ROOT / "po" / "LINGUAS").read_text(encoding="utf-8").split()
    wanted = sys.argv[3:] or known
    for language in wanted:
        if language not in known:
            fail(f"there is no language '{language}': {' '.join(known)}")
    out.mkdir(parents=True, exist_ok=True)
    photo, _ = make_photograph(out)
    burst = make_burst(out, FRAMES)
    for language in wanted:
        step(f"pictures of the dialog: {language}")
        folder = out / language
        folder.mkdir(exist_ok=True)
        command = [GIMP_ENV, "--gui", out / "gimp-profile", plug_ins]
        command += [sys.executable, DRIVER, folder, language, plug_ins / "grainless" / "locale", photo, *burst]
        log = out / f"{language}.log"
        with open(log, "w", encoding="utf-8") as file:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, text=True, check=False)
        if done.returncode != 0:
            fail(f"no pictures in {language}: {log} names the reason")
        print(done.stdout, end="")
        if language == "en":
            reduce_pictures(folder, out / "manual")
            noise_kinds.make(out)


def reduce_pictures(folder, target):
    target.mkdir(exist_ok=True)
    for view, (name, colours) in MANUAL.items():
        with Image.open(folder / f"{view}.png") as image:
            picture = image.convert("RGB")
            if colours:
                picture = picture.quantize(colours, dither=Image.Dither.NONE)
            picture.save(target / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
