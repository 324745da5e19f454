#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Noisy pictures for gimp.sh: pictures.py OUT [WIDTHxHEIGHT]: OUT/in8.tif and OUT/in16.tif, RGB, 6000x4000 without a size,
and OUT/frame-1.png to frame-8.png, a burst of 1500x1000."""
import pathlib
import sys

import cv2
import numpy as np

SIGMA = 15

out = pathlib.Path(sys.argv[1])
width, height = map(int, (sys.argv[2] if len(sys.argv) > 2 else "6000x4000").split("x"))
y, x = np.mgrid[0:height, 0:width].astype(np.float32)
base = 128 + 50 * np.sin(x / 37) * np.cos(y / 29) + np.where((x.astype(int) // 256 + y.astype(int) // 192) % 2, 25, -25)
random = np.random.default_rng(1)
picture = np.stack([base, base * 0.9 + 10, 250 - base], axis=-1)
picture += random.standard_normal(picture.shape, dtype=np.float32) * SIGMA
# Rows in one strip each, uncompressed: what a converter of raw files writes.
options = [cv2.IMWRITE_TIFF_COMPRESSION, 1]
cv2.imwrite(str(out / "in8.tif"), np.clip(np.rint(picture), 0, 255).astype(np.uint8), options)
cv2.imwrite(str(out / "in16.tif"), np.clip(np.rint(picture * 257), 0, 65535).astype(np.uint16), options)
for i in range(1, 9):
    noise = random.standard_normal((1000, 1500, 3), dtype=np.float32)[: base.shape[0], : base.shape[1]]
    frame = base[:1000, :1500, None] + noise * SIGMA
    cv2.imwrite(str(out / f"frame-{i}.png"), np.clip(np.rint(frame), 0, 255).astype(np.uint8))
