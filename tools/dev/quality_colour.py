# SPDX-License-Identifier: MIT
"""Small-scale colour contrast: the root mean square of chroma between Gaussians of 2 and 8 pixels
(details of some 8 to 32 pixels), where the picture is saturated: where its chroma, smoothed by the
larger Gaussian, exceeds 30 steps. The smaller one keeps most of the noise of the picture before out
of the measure."""

import numpy
from PIL import Image
from scipy.ndimage import gaussian_filter

# Photographs whose small colours strong noise covers.
PHOTOGRAPHS = ("Dog", "Boy", "Bears")
FINE, COARSE, SATURATED = 2.0, 8.0, 30.0


def chroma(path):
    red, green, blue = numpy.moveaxis(numpy.asarray(Image.open(path).convert("RGB"), float), 2, 0)
    return (red - blue) / 2**0.5, (red - 2 * green + blue) / 6**0.5


def contrast(planes, where):
    squares = sum((gaussian_filter(p, FINE) - gaussian_filter(p, COARSE)) ** 2 for p in planes)
    return float(numpy.sqrt(squares[where].mean()))


def lost_contrast(before, after):
    """The share of the picture's small-scale colour contrast that its result lacks."""
    original = chroma(before)
    where = numpy.hypot(*(gaussian_filter(plane, COARSE) for plane in original)) > SATURATED
    return 1 - contrast(chroma(after), where) / contrast(original, where)
