#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What grainless-examples hands to those who teach the post-filter (tools/learn/learn.py):
examples_test.py GRAINLESS GRAINLESS_EXAMPLES WEIGHTS. The network, written with NumPy, must make of
an example what the command line makes of the same picture."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

GRAINLESS, EXAMPLES, WEIGHTS = sys.argv[1:4]
SIGMA = 15
HEIGHT, WIDTH = 90, 120


def scene():
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    squares = 60.0 * ((x // 17 + y // 13) % 2)
    return numpy.round(70 + squares + 20 * numpy.sin(x * 0.3 + y * 0.1) + 0.3 * x)


def write_pgm(path, values):
    head = f"P5\n{values.shape[1]} {values.shape[0]}\n255\n".encode()
    path.write_bytes(head + values.astype(numpy.uint8).tobytes())


def read_pfm(path):
    data = path.read_bytes()
    _, size, scale, values = data.split(b"\n", 3)
    width, height = map(int, size.split())
    order = "<f4" if float(scale) < 0 else ">f4"
    return numpy.frombuffer(values, order, width * height).reshape(height, width)[::-1] * 255.0


def read_example(path):
    height, width, levels = numpy.fromfile(path, "<i4", 3)
    sigma = numpy.fromfile(path, "<f4", 4)[3]
    return levels, sigma, numpy.fromfile(path, "<f4", offset=16).reshape(4, height, width)


def weights():
    bits = re.findall(r"0x[0-9a-f]{4}", pathlib.Path(WEIGHTS).read_text())
    values = numpy.array([int(word, 16) for word in bits], numpy.uint16).view(numpy.float16)
    for inputs, outputs in ((2, 16), (16, 16), (16, 16), (16, 1)):
        count = inputs * outputs * 9
        yield values[:count].astype(float).reshape(outputs, inputs, 3, 3)
        values = values[count:]
    assert not len(values)


def convolved(maps, kernel):
    height, width = (side - 2 for side in maps.shape[1:])
    result = numpy.zeros((len(kernel), height, width))
    for y in range(3):
        for x in range(3):
            part = maps[:, y : y + height, x : x + width]
            result += numpy.einsum("oi,ihw->ohw", kernel[:, :, y, x], part)
    return result


def correction(noisy, estimate):
    noisy, estimate = (numpy.pad(plane, 6, mode="edge").astype(float) for plane in (noisy, estimate))
    height, width = (side - 4 for side in noisy.shape)
    mean = sum(
        estimate[y : y + height, x : x + width] for y in range(5) for x in range(5)
    ) / 25
    inner = (slice(2, -2), slice(2, -2))
    maps = numpy.stack([(noisy - estimate)[inner], estimate[inner] - mean])
    maps = maps / (1 + numpy.abs(maps) / 8)
    for number, kernel in enumerate(weights()):
        maps = convolved(maps, kernel)
        if number < 3:
            maps = numpy.maximum(maps, 0)
    return maps[0]


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clean = pathlib.Path(self.folder.name) / "clean.pgm"
        self.out = pathlib.Path(self.folder.name) / "example.f32"
        write_pgm(self.clean, scene())

    def run_examples(self, *arguments):
        command = [EXAMPLES, self.clean, self.out, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_the_network_is_the_engines(self):
        done = self.run_examples("--sigma", SIGMA, "--seed", 7)
        self.assertEqual(done.returncode, 0, done.stderr)
        levels, sigma, (noisy, estimate, result, clean) = read_example(self.out)
        self.assertEqual((levels, sigma), (1, SIGMA))
        numpy.testing.assert_allclose(clean * sigma, scene(), atol=1e-3)
        self.assertLess(abs(numpy.std(noisy - clean) - 1), 0.05)
        numpy.testing.assert_array_equal(estimate, result)
        self.assertLess(numpy.mean((estimate - clean) ** 2), 0.2)
        learned = (estimate + numpy.clip(correction(noisy, estimate), -0.25, 0.25)) * sigma
        self.assertGreater(numpy.abs(learned - estimate * sigma).max(), 0.5)
        denoised = self.clean.with_name("denoised.pfm")
        options = f"--method bm3d --quality high --sigma {SIGMA} --add-noise {SIGMA} --seed 7"
        command = [GRAINLESS, *options.split(), "--device", "cpu", self.clean, "-o", denoised]
        subprocess.run(command, check=True, capture_output=True)
        numpy.testing.assert_allclose(read_pfm(denoised), learned, atol=0.01 * SIGMA)

    def test_weaker_noise_and_photographs(self):
        self.assertEqual(self.run_examples("--sigma", SIGMA, "--noise", 5).returncode, 0)
        _, sigma, (noisy, _, _, clean) = read_example(self.out)
        self.assertLess(abs(numpy.std(noisy - clean) * sigma - 5), 0.3)
        noisy = self.clean.with_name("noisy.pgm")
        y, x = numpy.mgrid[0:200, 0:300]
        smooth = numpy.round(60 + 0.3 * x + 0.2 * y)
        write_pgm(self.clean, smooth)
        noise = numpy.random.default_rng(1).normal(0, 10, smooth.shape)
        write_pgm(noisy, numpy.clip(smooth + noise, 0, 255))
        self.assertEqual(self.run_examples("--noisy", noisy).returncode, 0)
        self.assertLess(abs(read_example(self.out)[1] - 10), 2)

    def test_failures_are_told(self):
        done = self.run_examples("--noisy", "/nowhere.png")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere.png", done.stderr)
        self.assertEqual(self.run_examples("--sigma", 0).returncode, 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
