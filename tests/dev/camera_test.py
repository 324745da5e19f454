#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulated cameras (tools/dev/camera.py) make the noise that they say, and the same twice."""

import dataclasses
import pathlib
import sys
import unittest

try:
    import numpy
    import scipy.ndimage  # noqa: F401
    from PIL import Image  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools/dev"))
import camera

BILINEAR = camera.CAMERAS["bilinear"]
KINDS = {
    "photosites": camera.CAMERAS["photosites"],
    "bilinear": BILINEAR,
    "reduced": dataclasses.replace(camera.CAMERAS["reduced"], demosaicing="bilinear"),
    "JPEG": dataclasses.replace(camera.CAMERAS["jpeg-75"], demosaicing="bilinear"),
}


def flat(value, side=128):
    return numpy.full((side, side, 3), value, numpy.uint8)


def scene():
    rows, columns = numpy.mgrid[:96, :128]
    picture = 120 + 70 * numpy.sin(columns / 15)[..., None] * numpy.cos(rows / 11)[..., None]
    return numpy.rint(picture + numpy.array([20, 0, -30])).astype(numpy.uint8)


def noise_of(clean, kind, iso=6400, seed=1):
    noisy, reference = camera.photograph(clean, kind, iso, seed)
    return noisy.astype(float) - reference


class CameraTest(unittest.TestCase):
    def test_the_same_seed_makes_the_same_photograph(self):
        for name, kind in KINDS.items():
            with self.subTest(name):
                first, again = (camera.photograph(scene(), kind, 3200, 5) for _ in range(2))
                other = camera.photograph(scene(), kind, 3200, 6)
                numpy.testing.assert_array_equal(first, again)
                numpy.testing.assert_array_equal(first[1], other[1])
                self.assertFalse(numpy.array_equal(first[0], other[0]))
                self.assertEqual((first[0].shape, first[0].dtype), (scene().shape, numpy.uint8))

    def test_photosites_have_the_noise_of_their_light(self):
        for value in (60, 128, 200):
            light = camera.decode_srgb(value / 255)
            shot, read = camera.LEVELS[1600]
            slope = (camera.encode_srgb(light + 1e-4) - camera.encode_srgb(light - 1e-4)) / 2e-4
            expected = 255 * slope * numpy.sqrt(light * shot + read**2)
            self.assertAlmostEqual(noise_of(flat(value), KINDS["photosites"], 1600).std() / expected, 1, delta=0.05)

    def test_isos_differ(self):
        levels = [noise_of(flat(90), BILINEAR, iso).std() for iso in camera.LEVELS]
        self.assertEqual(levels, sorted(levels))
        self.assertGreater(levels[-1], 1.5 * levels[0])

    def test_a_mosaic_leaves_neighbours_noise_alike(self):
        noise = noise_of(flat(128), BILINEAR)[..., 0]
        alike = (noise[:, 1:] * noise[:, :-1]).mean() / noise.var()
        white = noise_of(flat(128), KINDS["photosites"])[..., 0]
        self.assertGreater(alike, 0.3)
        self.assertLess(abs((white[:, 1:] * white[:, :-1]).mean() / white.var()), 0.05)

    def test_white_balance_makes_red_noisier_than_green(self):
        noise = noise_of(flat(128), BILINEAR)
        self.assertGreater(noise[..., 0].std(), 1.2 * noise[..., 1].std())

    def test_noise_reduction_takes_noise_away_and_leaves_its_coarse_part(self):
        plain, less = (noise_of(flat(128), KINDS[name]) for name in ("bilinear", "reduced"))
        self.assertLess(less.std(), 0.8 * plain.std())
        self.assertGreater(less.std(), 0.5)

    def test_without_noise_a_flat_picture_stays(self):
        reference = camera.photograph(flat(77), BILINEAR, 6400, 1)[1]
        self.assertLessEqual(abs(reference.astype(int) - 77).max(), 1)


if __name__ == "__main__":
    unittest.main()
