# SPDX-License-Identifier: MIT
"""Files with a curve of their own: the command line and GIMP take the same samples for the same light."""
import os
import pathlib
import subprocess
import sys

import numpy as np

from harness import WORK, denoise, load, native_bytes

sys.path.insert(0, str(pathlib.Path(os.environ["GRAINLESS_TEST_DIR"]).parent / "tools"))
from colour_files import (IDENTITY, formula_curve, gamma_curve, integers, light_from_perceptual, png, profile, read_pnm,
                          scene, table_curve, tiff)

SETTINGS = {"method": "nlm", "quality": "fast", "auto-sigma": "no", "sigma": "10"}
GAMMA = 461 / 256  # what an ICC profile makes of 1.8


def files():
    """Name, content, and how far the results may be apart in steps of the file's samples: at most, and on average.

    Of 8 bits that is one step of rounding. Of 16 bits babl's own curves, which are polynomials in single precision, are some
    steps off (formulas more than tables, light itself not at all), and where that moves a whole-numbered match value of the
    filter, a pixel some dozens: an eighth of an 8-bit step."""
    light = light_from_perceptual(scene())
    grey = light_from_perceptual(scene(channels=1))
    table = [round(65535 * (i / 1023) ** 1.7) for i in range(1024)]
    yield "light.tif", tiff(integers(light, np.uint16), profile(IDENTITY)), 32, 0.05
    yield "light-8.tif", tiff(integers(light, np.uint8), profile(IDENTITY)), 1, 0.002
    yield "gamma.png", png(integers(light ** (1 / 1.8), np.uint8), gamma=1 / 1.8), 1, 0.02
    yield "gamma-2.2.png", png(integers(light ** (1 / 2.2), np.uint8), gamma=0.45455), 1, 0.02
    yield "profile.tif", tiff(integers(light ** (1 / GAMMA), np.uint16), profile(gamma_curve(GAMMA))), 48, 2
    yield "formula.png", png(integers(light ** 0.4, np.uint16), profile(formula_curve(0, 2.5))), 48, 8
    yield "table.tif", tiff(integers(light ** (1 / 1.7), np.uint16), profile(table_curve(table))), 32, 0.6
    yield "grey.tif", tiff(integers(grey ** (1 / GAMMA), np.uint16), profile(gamma_curve(GAMMA), grey=True)), 48, 2
    yield "float.tif", tiff(light.astype(np.float32), profile(IDENTITY)), 5e-4, 2e-6


def samples_of(layer, like):
    return np.frombuffer(native_bytes(layer), like.dtype).reshape(like.shape)


def check_file(name, content, most, mean):
    source, result = WORK / name, WORK / (name + (".pfm" if name.startswith("float") else ".pnm"))
    source.write_bytes(content)
    options = [f"--{key}={value}" for key, value in SETTINGS.items()]
    subprocess.run([os.environ["GRAINLESS_CLI"], *options, str(source), "-o", str(result)], check=True, capture_output=True)
    image = load(source)
    layer = image.get_layers()[0]
    made = read_pnm(result)
    made = made.astype(made.dtype.newbyteorder("="))
    before = samples_of(layer, made).copy()
    denoise(image, [layer], method="nlm", quality="fast", auto_sigma=False, sigma=10.0)
    after = samples_of(layer, made)
    assert np.abs(after.astype(float) - before).mean() > 50 * mean  # something was done
    error = np.abs(after.astype(float) - made)
    assert error.max() <= most and error.mean() <= mean, (error.max(), error.mean())


def cases():
    if os.environ["GRAINLESS_CLI"]:
        for name, *how in files():
            yield f"file's curve: {name}", lambda name=name, how=how: check_file(name, *how)
