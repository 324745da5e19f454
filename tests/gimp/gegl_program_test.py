#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operation on the command line of gegl, without any GIMP: gegl_program_test.py BUILD_DIR PLUG_IN_DIR GRAINLESS

What gegl writes are the pixels that the command line writes; values that there can't be leave a picture, and gegl alive.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
from PIL import Image

from run import own_folder, stage_build

# Properties of the operation, and the command line's options for the same.
SETTINGS = [
    ("auto-sigma=false sigma=15", "--sigma 15"),
    ("", ""),
    ("method=nlm auto-sigma=false sigma=8 luma=60 chroma=150", "--method nlm --sigma 8 --luma 60 --chroma 150"),
    ("method=dct noise=camera quality=high", "--method dct --noise camera --quality high"),
]
IMPOSSIBLE = "auto-sigma=false sigma=9999 patch=-3 quality=nonsense"


def noisy_picture(path):
    y, x = np.mgrid[0:150, 0:211]
    base = np.stack([128 + 60 * np.sin(x / 19), 90 + 50 * np.cos(y / 13), 128 + 40 * ((x // 32 + y // 32) % 2)], axis=-1)
    noise = np.random.default_rng(7).normal(0, 12, base.shape)
    Image.fromarray(np.clip(np.rint(base + noise), 0, 255).astype(np.uint8)).save(path)


def gegl(stage, source, target, settings):
    target.unlink(missing_ok=True)
    operations = ["grainless:denoise", *settings.split()]
    run = subprocess.run(["gegl", source, "-o", target, "--", *operations], capture_output=True, text=True, check=False,
                         env=dict(os.environ, GEGL_PATH=f"{stage}:{system_operations()}"), timeout=100)
    assert run.returncode == 0 and target.exists(), f"gegl {settings}: {run.returncode}, {run.stdout}{run.stderr}"
    return target


def system_operations():
    return subprocess.run(["pkg-config", "--variable=pluginsdir", "gegl-0.4"], capture_output=True, text=True,
                          check=True).stdout.strip()


def same(grainless, one, other):
    said = subprocess.run([grainless, "metrics", one, other], capture_output=True, text=True, check=True).stdout
    return "identical" in said, said


def main():
    build, plug_in_dir, grainless = sys.argv[1:4]
    if not shutil.which("gegl"):
        print("there is no program gegl (package gegl)")
        return 77
    work, _lock = own_folder(pathlib.Path(build) / "tests" / "gegl-program")
    tree = (stage_build(build, work, plug_in_dir) / "../../..").resolve()
    stage = next(tree.parent.glob("**/grainless-effect.so")).parent
    source, target, expected = work / "noisy.png", work / "gegl.png", work / "expected.png"
    noisy_picture(source)
    for properties, options in SETTINGS:
        gegl(stage, source, target, properties)
        subprocess.run([grainless, "--device", "cpu", *options.split(), "-o", expected, source], check=True)
        equal, said = same(grainless, target, expected)
        assert equal, f"'{properties}': {said}"
        changed = not same(grainless, expected, source)[0]
        assert changed, f"'{properties}' removes nothing: {said}"
    gegl(stage, source, target, IMPOSSIBLE)
    print(f"gegl: {len(SETTINGS)} settings as the command line has them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
