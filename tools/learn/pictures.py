# SPDX-License-Identifier: MIT
"""Clean pictures to learn from: crops of reduced photographs, and drawn ones."""

import random

import numpy
from PIL import Image, ImageDraw, ImageFont

SIDE = 304  # pixels a side
# Widths that photographs are reduced to, at least by half: their own noise and compression go.
WIDTHS = ((1000, 1500), (550, 800))
FLATTEST = 0.8  # mean difference of neighbours, in steps: what is flatter teaches nothing


def reduced(photo, width):
    scale = min(0.5, width / max(photo.size))
    size = [max(SIDE, round(side * scale)) for side in photo.size]
    return photo.resize(size, Image.LANCZOS)


def busiest_crop(picture, draw):
    """Of four drawn ones, and how busy it is."""
    crops = []
    for _ in range(4):
        x, y = (draw.randint(0, side - SIDE) for side in picture.size)
        crop = picture.crop((x, y, x + SIDE, y + SIDE))
        grey = numpy.asarray(crop.convert("L"), float)
        crops.append((numpy.abs(numpy.diff(grey, axis=0)).mean(), crop))
    return max(crops, key=lambda found: found[0])


def crops_of(paths, seed):
    """Two crops of each photograph, at two scales."""
    draw = random.Random(seed)
    for path in paths:
        photo = Image.open(path).convert("RGB")
        for widths in WIDTHS:
            busy, crop = busiest_crop(reduced(photo, draw.uniform(*widths)), draw)
            if busy >= FLATTEST:
                yield crop


class Patterns:
    """Waves, halftone, bricks, weave, squares: what repeats exactly, BM3D finds and photographs
    rarely hold. Without them the post-filter takes some of it for noise."""

    KINDS = 8

    def __init__(self, seed):
        self.draw = numpy.random.default_rng(seed)
        self.y, self.x = numpy.mgrid[0:SIDE, 0:SIDE].astype(float)

    def turned(self):
        angle = self.draw.uniform(0, numpy.pi)
        along = self.x * numpy.cos(angle) + self.y * numpy.sin(angle)
        return along, self.y * numpy.cos(angle) - self.x * numpy.sin(angle)

    def wave(self, hardness=0.0):
        period = numpy.exp(self.draw.uniform(numpy.log(2.3), numpy.log(24)))
        wave = numpy.sin(2 * numpy.pi * self.turned()[0] / period + self.draw.uniform(0, 6))
        return numpy.tanh(wave * hardness) if hardness else wave

    def squares(self, least, most):
        across, down = self.draw.integers(least, most, 2)
        return (self.x // across + self.y // down) % 2

    def halftone(self):
        u, v = (2 * numpy.pi * axis / self.draw.uniform(4, 12) for axis in self.turned())
        return numpy.tanh(3 * (numpy.cos(u) + numpy.cos(v) - self.draw.uniform(-1, 1)))

    def bricks(self):
        width, height = self.draw.integers(9, 30), self.draw.integers(5, 14)
        row = (self.y // height).astype(int)
        column = (self.x + row % 2 * width / 2) // width
        joint = (self.y % height < 1.5) | ((self.x + row % 2 * width / 2) % width < 1.5)
        shade = self.draw.normal(size=(70, 70))[row % 70, column.astype(int) % 70]
        return 1 - 2 * joint + 0.2 * shade

    def weave(self):
        period = self.draw.uniform(3, 8)
        over = (self.x // period + self.y // period) % 2 * 2 - 1
        along, across = (numpy.sin(2 * numpy.pi * axis / period) for axis in (self.x, self.y))
        return along * over + across * (1 - over)

    def texture(self, kind):
        return (
            self.wave,
            lambda: self.wave(self.draw.uniform(1, 6)),
            lambda: self.wave() * self.wave(),
            lambda: numpy.tanh(4 * self.wave() * self.wave()),
            self.halftone,
            self.bricks,
            self.weave,
            lambda: 0.5 * self.wave() + self.squares(4, 20),
        )[kind]()

    def picture(self, number):
        slopes = self.draw.uniform(-0.25, 0.25, 2)
        base = self.draw.uniform(40, 215) + slopes[0] * (self.x - SIDE / 2)
        base += slopes[1] * (self.y - SIDE / 2)
        texture = self.texture(number % self.KINDS)
        if self.draw.random() < 0.6:  # in a part of the picture
            edge = self.turned()[0] - SIDE * self.draw.uniform(0.2, 0.8)
            texture = texture * (numpy.tanh(edge * self.draw.uniform(0.2, 2)) + 1) / 2
        if self.draw.random() < 0.4:
            base = base + 45 * self.squares(9, 60)
        contrast = numpy.exp(self.draw.uniform(numpy.log(3), numpy.log(55)))
        pixels = numpy.clip(base + contrast * texture, 0, 255)
        return Image.fromarray(numpy.round(pixels).astype(numpy.uint8))


def page(number):
    """Letters of several sizes, or shapes, in two colours or many; drawn larger, then reduced."""
    draw = random.Random(100 + number)
    scale = 3
    side = scale * SIDE

    def colour():
        return tuple(draw.randrange(256) for _ in range(3))

    def place():
        return draw.randrange(side), draw.randrange(side)

    image = Image.new("RGB", (side, side), colour())
    pen = ImageDraw.Draw(image)
    ink, top = colour(), 0
    while number % 2 == 0 and top < side:
        size = scale * draw.choice((10, 12, 14, 18, 28, 48))
        text = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJ 0123456789.,;") for _ in range(100))
        pen.text((draw.randint(-40, 40), top), text, fill=ink, font=ImageFont.load_default(size))
        top += size * 4 // 3
    for _ in range(60 * (number % 2)):
        shape = draw.randrange(3)
        if shape == 0:
            (x, y), radius = place(), draw.randint(10, 300)
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour())
        elif shape == 1:
            pen.line((*place(), *place()), fill=colour(), width=draw.randint(2, 40))
        else:
            pen.polygon([place() for _ in range(3)], fill=colour())
    return image.resize((SIDE, SIDE), Image.LANCZOS)
