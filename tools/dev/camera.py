#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Noisy photographs as cameras make them, from clean ones: camera.py CLEAN NOISY REFERENCE
[--camera NAME] [--iso NUMBER] [--seed NUMBER]

A clean photograph is taken for the scene: sRGB is decoded to linear light, blurred as lenses and
low-pass filters do before a mosaic (without that, bricks and fences are all colour aliasing),
divided by the white balance's gains, and sampled through a Bayer mosaic (RGGB). A photosite of brightness x in [0, 1]
gets Gaussian noise of variance x·shot + read², seeded (Foi 2008, with the sum clipped to [0, 1]);
shot and read go by ISO (LEVELS). Then the camera develops it: demosaicing, white balance, sRGB's
curve, and by CAMERAS noise reduction, sharpening, 8 bits, JPEG. The reference is the same photograph
developed without noise and JPEG, nearly what the mean of many exposures shows.

Demosaicing: "bilinear", or "menon" (Menon 2007) of colour-demosaicing from PyPI. "photosites" has no
mosaic: each pixel holds three photosites, and nothing is white-balanced. That is the demo's camera.
"""

import argparse
import dataclasses
import io

import numpy
from PIL import Image

# ISO: photon noise, a share of the brightness, and read noise, in shares of white. Of a small sensor;
# 6400 is the demo's.
LEVELS = {1600: (0.001, 0.003), 3200: (0.002, 0.005), 6400: (0.004, 0.008)}
GAINS = numpy.array([1.9, 1.0, 1.6])  # white balance of a camera in daylight
LENS_BLUR = 0.7  # pixels, sigma of a Gaussian
CHROMA_BLUR, LUMA_WINDOW = 1.5, 5  # noise reduction, pixels
SHARP_RADIUS, SHARP_AMOUNT = 1.0, 0.6


@dataclasses.dataclass(frozen=True)
class Camera:
    demosaicing: str = "menon"  # or "bilinear", "photosites"
    reduction: bool = False
    sharpening: bool = False
    jpeg: int = 0  # quality, 0: none


CAMERAS = {
    "photosites": Camera("photosites"),
    "bilinear": Camera("bilinear"),
    "menon": Camera(),
    "sharpened": Camera(sharpening=True),
    "jpeg-95": Camera(sharpening=True, jpeg=95),
    "jpeg-75": Camera(sharpening=True, jpeg=75),
    "reduced": Camera(reduction=True, sharpening=True, jpeg=90),
}


def decode_srgb(encoded):
    return numpy.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def encode_srgb(linear):
    return numpy.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)


def to_bytes(encoded):
    return numpy.rint(numpy.clip(encoded, 0, 1) * 255).astype(numpy.uint8)


def photon_noise(linear, level, seed):
    """The photosites' values with noise; level: (shot, read)."""
    shot, read = level
    sigma = numpy.sqrt(linear * shot + read**2)
    noisy = linear + sigma * numpy.random.default_rng(seed).standard_normal(linear.shape)
    return numpy.clip(noisy, 0, 1)


def mosaic_masks(shape):
    """Where red, green and blue are sampled (RGGB): rows x columns x 3 of 0 and 1."""
    masks = numpy.zeros((*shape, 3))
    masks[0::2, 0::2, 0] = 1
    masks[0::2, 1::2, 1] = masks[1::2, 0::2, 1] = 1
    masks[1::2, 1::2, 2] = 1
    return masks


def bilinear(raw):
    """Means of the nearest two or four samples, borders mirrored."""
    from scipy.ndimage import convolve

    masks = mosaic_masks(raw.shape)
    cross = numpy.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    square = numpy.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    planes = [
        convolve(raw * masks[..., c], cross if c == 1 else square, mode="mirror") for c in range(3)
    ]
    return numpy.stack(planes, axis=-1)


def menon(raw):
    from colour_demosaicing import demosaicing_CFA_Bayer_Menon2007

    return demosaicing_CFA_Bayer_Menon2007(raw, "RGGB")


def reduced(encoded, level):
    """Luma by Wiener's filter in a small window, chroma blurred: what cameras do, in little. The
    filter expects the noise of mid-grey, whatever is there, so that it treats the reference alike."""
    from scipy.ndimage import gaussian_filter, uniform_filter

    luma = encoded @ numpy.array([0.299, 0.587, 0.114])
    chroma = encoded - luma[..., None]
    chroma = numpy.stack([gaussian_filter(chroma[..., c], CHROMA_BLUR) for c in range(3)], axis=-1)
    shot, read = level
    grey, slope = 0.214, 1.08  # linear light of sRGB's 0.5, and what it gains there
    noise = slope**2 * (grey * shot + read**2)
    mean = uniform_filter(luma, LUMA_WINDOW)
    variance = uniform_filter(luma**2, LUMA_WINDOW) - mean**2
    kept = numpy.maximum(variance - noise, 0) / numpy.maximum(variance, noise)
    return (mean + kept * (luma - mean))[..., None] + chroma


def sharpened(encoded):
    """Unsharp masking of luma."""
    from scipy.ndimage import gaussian_filter

    luma = encoded @ numpy.array([0.299, 0.587, 0.114])
    return encoded + SHARP_AMOUNT * (luma - gaussian_filter(luma, SHARP_RADIUS))[..., None]


def through_jpeg(pixels, quality):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality, subsampling=0 if quality >= 90 else 2)
    return numpy.array(Image.open(buffer))


def photosites(clean, level, seed):
    linear = decode_srgb(clean / 255.0)
    return to_bytes(encode_srgb(photon_noise(linear, level, seed)))


def develop(raw, camera, level):
    """From the mosaic to the encoded picture, before it is rounded."""
    linear = bilinear(raw) if camera.demosaicing == "bilinear" else menon(raw)
    encoded = encode_srgb(numpy.clip(linear * GAINS, 0, 1))
    if camera.reduction:
        encoded = reduced(encoded, level)
    return sharpened(encoded) if camera.sharpening else encoded


def photograph(clean, camera, iso, seed):
    """(noisy, reference), rows x columns x 3 of uint8 like `clean`."""
    level = LEVELS[iso]
    if camera.demosaicing == "photosites":
        return photosites(clean, level, seed), clean
    from scipy.ndimage import gaussian_filter

    scene = decode_srgb(clean / 255.0) / GAINS
    scene = gaussian_filter(scene, (LENS_BLUR, LENS_BLUR, 0), mode="mirror")
    raw = (scene * mosaic_masks(scene.shape[:2])).sum(axis=-1)
    noisy = to_bytes(develop(photon_noise(raw, level, seed), camera, level))
    if camera.jpeg:
        noisy = through_jpeg(noisy, camera.jpeg)
    return noisy, to_bytes(develop(raw, camera, level))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clean")
    parser.add_argument("noisy")
    parser.add_argument("reference")
    parser.add_argument("--camera", choices=CAMERAS, default="menon")
    parser.add_argument("--iso", type=int, choices=LEVELS, default=6400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    clean = numpy.array(Image.open(arguments.clean).convert("RGB"))
    made = photograph(clean, CAMERAS[arguments.camera], arguments.iso, arguments.seed)
    for pixels, path in zip(made, (arguments.noisy, arguments.reference)):
        Image.fromarray(pixels).save(path)


if __name__ == "__main__":
    main()
