# SPDX-License-Identifier: MIT
"""The manual's pictures of the kinds of noise: make(OUT) writes OUT/noise-KIND.png, a part of the
demo's photograph with that noise on the left, and on the right what the settings of KINDS make of
the whole of it. Seeded, so that every run makes the same ones, but for the filter.
"""

import subprocess

import numpy
from PIL import Image
from scipy.ndimage import gaussian_filter

import camera
from demo import astronaut
from steps import fail

SEED, ISO, LOW_ISO = 20261122, 6400, 1600
HOT = 1 / 400  # of the photosites: more than a camera's, to be seen in a small picture
SHOWN, CORNER, ENLARGED = (190, 20, 170, 150), (0, 362, 170, 150), 2  # x, y, width, height; times
STOPS = 3  # by which a lens darkens the corners
COLOURS = 160


def even(clean):
    noise = numpy.random.default_rng(SEED).normal(0, 16, clean.shape)
    return camera.to_bytes((clean + noise) / 255)


def shadows(clean):
    return camera.photosites(clean, camera.LEVELS[ISO], SEED)


def corners(clean):
    """A fast lens darkens them, and a raw developer brightens them again."""
    rows, columns = (numpy.linspace(-1, 1, side) for side in clean.shape[:2])
    square = (rows[:, None] ** 2 + columns**2) / 2
    light = 2.0 ** (-STOPS * square[..., None])
    noisy = camera.photon_noise(light * camera.decode_srgb(clean / 255.0), camera.LEVELS[LOW_ISO], SEED)
    return camera.to_bytes(camera.encode_srgb(numpy.clip(noisy / light, 0, 1)))


def blotches(clean):
    """A camera's demosaicing, and colour that is off over several pixels."""
    noisy, _ = camera.photograph(clean, camera.CAMERAS["bilinear"], LOW_ISO, SEED)
    random = numpy.random.default_rng(SEED)
    coarse = gaussian_filter(random.standard_normal(clean.shape), (2, 2, 0))
    coarse *= 6 / coarse.std()
    coarse -= coarse.mean(axis=2, keepdims=True)
    return camera.to_bytes((noisy + coarse) / 255)


def hot_pixels(clean):
    level = camera.LEVELS[LOW_ISO]
    scene = camera.decode_srgb(clean / 255.0) / camera.GAINS
    raw = (scene * camera.mosaic_masks(scene.shape[:2])).sum(axis=-1)
    raw = camera.photon_noise(raw, level, SEED)
    raw[numpy.random.default_rng(SEED).random(raw.shape) < HOT] = 1
    return camera.to_bytes(camera.develop(raw, camera.CAMERAS["bilinear"], level))


def jpeg(clean):
    settings = camera.Camera("bilinear", reduction=True, sharpening=True, jpeg=80)
    return camera.photograph(clean, settings, ISO, SEED)[0]


KINDS = {
    "even": (even, []),
    "shadows": (shadows, []),
    "corners": (corners, []),
    "blotches": (blotches, ["--preset", "high-iso"]),
    "hot-pixels": (hot_pixels, []),
    "jpeg": (jpeg, ["--preset", "camera-jpeg"]),
}


def part(path, kind):
    x, y, width, height = CORNER if kind == "corners" else SHOWN
    with Image.open(path) as image:
        crop = image.convert("RGB").crop((x, y, x + width, y + height))
    return crop.resize((width * ENLARGED, height * ENLARGED), Image.Resampling.NEAREST)


def make(out):
    clean = astronaut()
    for kind, (noise, options) in KINDS.items():
        before, after = out / f"{kind}-before.png", out / f"{kind}-after.png"
        Image.fromarray(noise(clean)).save(before)
        command = ["grainless", *options, str(before), "-o", str(after)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(command)}: {done.stderr.strip()}")
        left, right = part(before, kind), part(after, kind)
        sheet = Image.new("RGB", (2 * left.width + 6, left.height), (255, 255, 255))
        sheet.paste(left, (0, 0))
        sheet.paste(right, (left.width + 6, 0))
        sheet = sheet.quantize(COLOURS, dither=Image.Dither.NONE)
        sheet.save(out / "manual" / f"noise-{kind}.png", optimize=True)
