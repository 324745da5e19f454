#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A GIMP in German: language_test.py GIMP_ENV BUILD_DIR PLUG_IN_DIR

The plug-in's labels, its own sentences and those of the engine come from the installed catalogue.
"""
import gettext
import json
import os
import pathlib
import shutil
import subprocess
import sys

from run import own_folder, stage_build

HERE = pathlib.Path(__file__).resolve().parent
LANGUAGE = "de"
ENGLISH = {"label": "S_trength", "plug-in": "There is no layer to denoise.",
           "engine": "search takes an odd number from 3 to 63, or 0 for automatic"}


def main():
    gimp_env, build, plug_in_dir = sys.argv[1:4]
    work, _lock = own_folder(pathlib.Path(build) / "tests" / "language")
    plug_ins = stage_build(build, work, plug_in_dir)
    # GNU gettext wants a locale that is not called C; its other parts may be C's.
    shutil.copytree("/usr/lib/locale/C.utf8", work / "locales" / f"{LANGUAGE}.UTF-8", dirs_exist_ok=True)
    answer = work / "answer.json"
    answer.unlink(missing_ok=True)
    speak = ["env", f"LOCPATH={work / 'locales'}", f"LC_ALL={LANGUAGE}.UTF-8", f"LANGUAGE={LANGUAGE}"]
    run = subprocess.run([gimp_env, work / "profile", plug_ins, *speak, "gimp-console", "--no-interface", "--no-data",
                          "--no-fonts", "--batch-interpreter=python-fu-eval", "-b",
                          f"exec(open({str(HERE / 'language.py')!r}).read())", "--quit"],
                         env=dict(os.environ, GRAINLESS_ANSWER=str(answer)), capture_output=True, text=True,
                         errors="replace", check=False)
    sys.stderr.write(run.stdout + run.stderr)
    said = json.loads(answer.read_text(encoding="utf-8"))
    catalogue = gettext.translation("grainless", plug_ins / "grainless" / "locale", [LANGUAGE])
    for what, english in ENGLISH.items():
        translated = catalogue.gettext(english)
        assert translated != english, f"the catalogue lacks '{english}'"
        assert translated in said[what], f"{what}: '{said[what]}' instead of '{translated}'"
        print(f"{what}: {said[what]}")


if __name__ == "__main__":
    main()
