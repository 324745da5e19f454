# SPDX-License-Identifier: MIT
"""Finds pictures in pictures, and compares them."""
import time

import numpy as np

import desktop
from desktop import wait_for

BORDER = 3  # pixels where GIMP draws the layer's outline


def places(pixels, picture, tolerance):
    """Where in the pixels the picture may be: left upper corners of it."""
    height, width = picture.shape[:2]
    row, column, length = height // 2, width // 3, 12
    fits = np.ones((pixels.shape[0] - height + 1, pixels.shape[1] - width + 1), bool)
    for i in range(length):
        part = pixels[row:row + fits.shape[0], column + i:column + i + fits.shape[1]]
        fits &= np.abs(part - picture[row, column + i]).max(axis=-1) <= tolerance
    return np.argwhere(fits)


def distance(pixels, place, picture):
    """By how many levels the picture is off there, on average, and the share of pixels that are more than one level off;
    without its border."""
    (y, x), (height, width) = place, picture.shape[:2]
    there = pixels[y:y + height, x:x + width].astype(int)
    off = np.abs(there - picture)[BORDER:-BORDER, BORDER:-BORDER].max(axis=-1)
    return off.mean(), (off > 1).mean()


def resting_screen():
    """As soon as it rests: the canvas is drawn bit by bit."""
    def resting():
        before = desktop.screen()
        time.sleep(0.7)
        after = desktop.screen()
        return [after] if np.array_equal(before, after) else None
    time.sleep(1)
    return wait_for("a screen that rests", resting, 20)[0].astype(np.int16)


def place_of(pixels, picture):
    picture = picture.astype(np.int16)
    found = [(distance(pixels, place, picture), tuple(map(int, place))) for place in places(pixels, picture, 4)]
    assert found, "GIMP's canvas shows nothing like the dialog's picture"
    return min(found)[1]


def expect_same(what, pixels, place, picture):
    mean, more = distance(pixels, place, picture)
    print(f"# {what}: {mean:.4f} levels off on average, {100 * more:.2f} % of the pixels by more than one")
    assert mean <= 0.05 and more == 0, f"the {what} differs"
