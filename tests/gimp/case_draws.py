# SPDX-License-Identifier: MIT
"""Stacks by chance: layers of every kind, size, place and content, through every selection, with any settings.

GRAINLESS_STACKS=N draws so many of them (3), from the seed GRAINLESS_SEED (1) on; a failing case's name repeats it.
"""
import os
import random
import subprocess

import numpy as np
from gi.repository import Gegl, Gimp

from harness import (REPORT, SUCCESS, WORK, call, clean_picture, get_pixels, load, native_pixels, reports, set_pixels,
                     with_alpha)

STACK = "plug-in-grainless-denoise-stack"
PRECISIONS = [f"{kind}_{curve}" for kind in ("U8", "U16", "U32", "HALF", "FLOAT", "DOUBLE")
              for curve in ("LINEAR", "NON_LINEAR", "PERCEPTUAL")]
TYPES = {("RGB", False): Gimp.ImageType.RGB_IMAGE, ("RGB", True): Gimp.ImageType.RGBA_IMAGE,
         ("GRAY", False): Gimp.ImageType.GRAY_IMAGE, ("GRAY", True): Gimp.ImageType.GRAYA_IMAGE}


class Draw:
    """An image with a stack, and what it was made from; `draw` is the seed's own source of chance."""

    def __init__(self, seed):
        self.draw = draw = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.base = draw.choice(["RGB", "RGB", "GRAY"])
        self.precision = draw.choice([*PRECISIONS, *["U8_NON_LINEAR"] * 6, *["U16_NON_LINEAR"] * 3])
        self.alpha = draw.random() < 0.3
        most = draw.choice([8, 40, 40, 120, 120, 300])
        self.width, self.height = draw.randint(1, most), draw.randint(1, most)
        self.place = draw.choice([(0, 0), (0, 0), (draw.randint(-60, 60), draw.randint(-60, 60))])
        canvas = (self.width, self.height) if draw.random() < 0.6 else (draw.randint(1, 300), draw.randint(1, 300))
        self.image = Gimp.Image.new_with_precision(*canvas, getattr(Gimp.ImageBaseType, self.base),
                                                   getattr(Gimp.Precision, self.precision))
        self.group = Gimp.GroupLayer.new(self.image, "group") if draw.random() < 0.2 else None
        if self.group:
            self.image.insert_layer(self.group, None, 0)
        self.content = draw.choice(["burst", "burst", "moving", "scenes", "constant", "black", "white", "board", "dots", "high"])
        self.sigma = draw.choice([0, 0.3, 2, 8, 8, 20, 45])
        count = draw.randint(2, 7) if draw.random() < 0.8 else draw.randint(8, 36)
        self.layers = [self.add(i) for i in range(count)]
        self.selected = draw.choice(["all", "all", "rectangle", "ellipse", "feathered", "none of it"])
        self.select()

    def add(self, number):
        layer = Gimp.Layer.new(self.image, f"layer {number}", self.width, self.height, TYPES[self.base, self.alpha], 100,
                               Gimp.LayerMode.NORMAL)
        self.image.insert_layer(layer, self.group, 0)
        layer.set_offsets(*self.place)
        pixels = self.picture(number)
        if self.alpha:
            ramp = np.broadcast_to(np.clip(np.linspace(-0.3, 1.3, self.width), 0, 1), (self.height, self.width))
            pixels = with_alpha(pixels, ramp)
        set_pixels(layer, pixels)
        if self.draw.random() < 0.2:
            layer.set_visible(False)
        if self.draw.random() < 0.15:
            layer.add_mask(layer.create_mask(self.draw.choice([Gimp.AddMaskType.WHITE, Gimp.AddMaskType.BLACK])))
        return layer

    def picture(self, number):
        channels = 3 if self.base == "RGB" else 1
        shape = (self.height, self.width, channels)
        if self.content in ("burst", "moving", "scenes", "high"):
            step = {"moving": 1, "scenes": 17}.get(self.content, 0) * number
            clean = clean_picture(channels, self.width + step, self.height + step)[step:, step:]
            clean = clean * (3 if self.content == "high" else 1)
        elif self.content == "board":
            clean = np.broadcast_to((np.indices(shape[:2]).sum(axis=0) % 2)[..., None], shape)
        elif self.content == "dots":
            clean = np.where(self.noise.random(shape) < 0.01, 1, 0.3)
        else:
            clean = np.full(shape, {"constant": 0.4, "black": 0, "white": 1}[self.content])
        return (clean + self.noise.normal(0, self.sigma / 255, shape)).astype(np.float32)

    def select(self):
        box = (self.place[0] + self.draw.randint(-9, self.width), self.place[1] + self.draw.randint(-9, self.height),
               self.draw.randint(1, self.width), self.draw.randint(1, self.height))
        if self.selected == "rectangle":
            self.image.select_rectangle(Gimp.ChannelOps.REPLACE, *box)
        elif self.selected in ("ellipse", "feathered"):
            self.image.select_ellipse(Gimp.ChannelOps.REPLACE, *box)
            if self.selected == "feathered":
                Gimp.Selection.feather(self.image, self.draw.randint(1, 20))
        elif self.selected == "none of it":
            self.image.select_rectangle(Gimp.ChannelOps.REPLACE, self.place[0] + self.width + 3, self.place[1], 5, 5)

    def settings(self):
        draw = self.draw
        settings = {"method": draw.choice(["bm3d", "bm3d", "nlm"]), "auto_sigma": draw.random() < 0.5,
                    "sigma": draw.choice([0.0, 0.01, 3.0, 10.0, 40.0, 100.0]), "depth": draw.randint(1, 15),
                    "strength": draw.choice([100.0, 100.0, 0.0, 1.0, 60.0, 200.0]),
                    "luma": draw.choice([100.0, 100.0, 0.0, 150.0]), "chroma": draw.choice([100.0, 100.0, 0.0, 150.0]),
                    "detail": draw.choice([0.0, 0.0, 40.0]), "search": draw.choice([0, 3, 5, 9]),
                    "patch": draw.choice([0, 0, 4, 5, 7, 8]), "centre": draw.choice(["max", "one", "zero"]),
                    "weights": draw.choice(["less-noise", "classic"]), "scales": draw.choice(["auto", "auto", "1", "2", "4"])}
        if settings["method"] == "bm3d":
            settings["quality"] = draw.choice(["fast", "normal"])
            settings["stages"] = draw.choice(["all", "first"])
        return settings

    def chosen(self):
        if self.group:
            return self.draw.choice([[self.group], [self.layers[0]], self.layers])
        return self.draw.choice([[self.layers[-1]], self.layers, self.draw.sample(self.layers, len(self.layers))])

    def coverage(self, layer):
        """How far each pixel of the layer is selected, 0 to 1."""
        if Gimp.Selection.is_empty(self.image):
            return np.ones((self.height, self.width), np.float32)
        area = Gegl.Rectangle.new(*self.place, self.width, self.height)
        data = self.image.get_selection().get_buffer().get(area, 1.0, "Y float", Gegl.AbyssPolicy.NONE)
        return np.frombuffer(data, np.float32).reshape(self.height, self.width)


def native(layers):
    return [native_pixels(layer).copy() for layer in layers]


def check(seed):
    draw = Draw(seed)
    settings = draw.settings()
    what = (f"{len(draw.layers)} of {draw.width} x {draw.height} at {draw.place}, {draw.base} {draw.precision}, alpha "
            f"{draw.alpha}, {draw.content}, sigma {draw.sigma}, selected {draw.selected}, {settings}")
    before, values = native(draw.layers), [get_pixels(layer) for layer in draw.layers]
    covered = draw.coverage(draw.layers[0])
    draw.image.clean_all()
    REPORT.unlink(missing_ok=True)
    status, message = call(draw.image, draw.chosen(), procedure=STACK, **settings)
    after = native(draw.layers)
    changed = [not np.array_equal(a, b) for a, b in zip(before, after)]
    if status != SUCCESS:
        assert status == Gimp.PDBStatusType.CALLING_ERROR and "\n" not in message.strip(), f"{status} {message}: {what}"
        assert not any(changed) and not draw.image.is_dirty(), f"changed although refused: {what}"
        return
    report, = reports()
    assert any(changed) <= bool(report["changed"]), f"the report knows of no change: {what}"
    assert report["changed"] or report["note"], f"nothing changed, and no word of it: {what}"
    assert draw.image.is_dirty() == bool(report["changed"]), f"dirty {draw.image.is_dirty()}, {report}: {what}"
    for layer, old, new, value in zip(draw.layers, before, after, values):
        outside = np.abs(get_pixels(layer) - value)[covered == 0].max(initial=0)
        same = np.array_equal(old[covered == 0], new[covered == 0])
        exact = draw.precision.startswith(("U8", "U16", "HALF"))  # GIMP converts the others' to blend them
        assert same or (not exact and outside < 1e-5), f"changed by {outside} outside of the selection: {what}"
        assert (layer.get_width(), layer.get_height()) == (draw.width, draw.height), what
        result = get_pixels(layer)
        assert np.isfinite(result).all(), f"not finite: {what}"
        if draw.alpha:
            assert np.abs(result[..., -1] - value[..., -1]).max() < 1e-3, f"alpha changed: {what}"
            result, value = result[..., :-1], value[..., :-1]
        check_distance(draw, settings, (result - value)[covered == 1], what)
    compare_with_command_line(draw, settings, values, after, what)


def check_distance(draw, settings, removed, what):
    """Promise 8, where the sigma used is known, and the layers show the same."""
    if settings["method"] != "bm3d" or settings["auto_sigma"] or draw.content in ("moving", "scenes") or removed.size == 0:
        return
    off = 255 * np.sqrt(np.mean(removed ** 2))
    sigma = settings["sigma"] * settings["strength"] * max(settings["luma"], settings["chroma"]) / 1e4
    assert off <= 3 * sigma + 1, f"{off:.2f} steps off, with sigma {sigma:.2f}: {what}"


def compare_with_command_line(draw, settings, values, after, what):
    """Where files hold what the layers do: whole integers without alpha, all selected."""
    kind = {"U8_NON_LINEAR": (255, np.uint8), "U16_NON_LINEAR": (65535, ">u2")}.get(draw.precision)
    if kind is None or draw.alpha or draw.selected != "all" or not os.environ["GRAINLESS_CLI"]:
        return
    names = []
    for number, pixels in enumerate(values):
        names.append(WORK / f"draw{number}.{'ppm' if draw.base == 'RGB' else 'pgm'}")
        head = f"P{6 if draw.base == 'RGB' else 5} {draw.width} {draw.height} {kind[0]}\n"
        stored = np.rint(np.clip(pixels, 0, 1) * kind[0]).astype(kind[1])
        names[-1].write_bytes(head.encode() + stored.tobytes())
    given = []
    for key, value in settings.items():
        if key == "auto_sigma" or (key == "sigma" and settings["auto_sigma"]):
            continue
        given.append(f"--{key.replace('_', '-')}={value}")
    result = WORK / "draw.tif"
    result.unlink(missing_ok=True)
    run = subprocess.run([os.environ["GRAINLESS_CLI"], *given, *names, "-o", result], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, f"the command line: {run.stderr} {' '.join(given)}: {what}"
    pages = list(reversed(load(result).get_layers()))
    for page, pixels in zip(pages, after, strict=True):
        other = native_pixels(page)
        assert other.shape == pixels.shape and np.array_equal(other, pixels), \
            f"not the command line's pixels, {(other != pixels).sum() if other.shape == pixels.shape else other.shape}: {what}"


def cases():
    first = int(os.environ.get("GRAINLESS_SEED", "1"))
    for seed in range(first, first + int(os.environ.get("GRAINLESS_STACKS", "3"))):
        yield f"draws: stack GRAINLESS_SEED={seed} GRAINLESS_STACKS=1", lambda s=seed: check(s)
