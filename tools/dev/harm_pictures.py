# SPDX-License-Identifier: MIT
"""Pictures without noise, of all kinds that a filter may be given: seeded, so that every run makes
the same ones. `make(photographs, out)` writes them to OUT/KIND/NAME.png and returns their paths.

photographs: {name: array of uint8, rows x columns, or x 3}, clean ones.
"""

import io

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from skimage import restoration

SIDE = 512
WORDS = (
    "the first do no harm of what was given; a filter, asked to remove noise, finds it in ink, in "
    "grain and in leaves: so measure twice, doubt once, and leave the rest alone. "
).split()


def to_bytes(values):
    return numpy.rint(numpy.clip(values, 0, 255)).astype(numpy.uint8)


def grey(picture):
    return picture if picture.ndim == 2 else numpy.array(Image.fromarray(picture).convert("L"))


def rgb(picture):
    return picture if picture.ndim == 3 else numpy.repeat(picture[..., None], 3, axis=2)


def sepia(picture):
    """A black-and-white picture as programs tone it: red and green reach white before blue."""
    return to_bytes(picture[..., None] * numpy.array([1.351, 1.203, 0.937]))


def resized(picture, factor, method=Image.Resampling.LANCZOS):
    image = Image.fromarray(picture)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return numpy.array(image.resize(size, method))


def jpeg(picture, quality, subsampling=2):
    buffer = io.BytesIO()
    options = {} if picture.ndim == 2 else {"subsampling": subsampling}
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality, **options)
    return numpy.array(Image.open(buffer))


def filtered(picture, kernel):
    return numpy.array(Image.fromarray(picture).filter(kernel))


# Drawn pictures


def text_page(size, ink, paper, seed, columns=1):
    random = numpy.random.default_rng(seed)
    image = Image.new("RGB", (SIDE * 3 // 2, SIDE), paper)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(size)
    width = image.width // columns
    for column in range(columns):
        y = size
        while y < image.height - 2 * size:
            line = ""
            while pen.textlength(line, font) < width - 4 * size:
                line += random.choice(WORDS) + " "
            pen.text((column * width + size, y), line, fill=ink, font=font)
            y += round(1.4 * size)
    return numpy.array(image)


def line_art(seed, smooth, lines=260):
    """Thin strokes and hatching, one pixel wide."""
    random = numpy.random.default_rng(seed)
    scale = 3 if smooth else 1
    image = Image.new("L", (SIDE * scale, SIDE * scale), 255)
    pen = ImageDraw.Draw(image)
    for _ in range(lines):
        x, y, angle = *random.uniform(0, SIDE * scale, 2), random.uniform(0, numpy.pi)
        strokes, gap = int(random.integers(1, 14)), random.uniform(3, 6) * scale
        length = random.uniform(20, 120) * scale
        for i in range(strokes):
            a = (x - i * gap * numpy.sin(angle), y + i * gap * numpy.cos(angle))
            b = (a[0] + length * numpy.cos(angle), a[1] + length * numpy.sin(angle))
            pen.line([a, b], fill=0, width=scale)
    return numpy.array(image.resize((SIDE, SIDE), Image.Resampling.BOX) if smooth else image)


def cartoon(seed):
    """Flat colours with black outlines and smooth edges."""
    random = numpy.random.default_rng(seed)
    image = Image.new("RGB", (SIDE * 3, SIDE * 3), tuple(random.integers(120, 250, 3)))
    pen = ImageDraw.Draw(image)
    for _ in range(60):
        x, y = random.uniform(0, SIDE * 3, 2)
        w, h = random.uniform(60, 500, 2)
        colour = tuple(random.integers(20, 245, 3))
        shape = pen.ellipse if random.random() < 0.6 else pen.rectangle
        shape([x, y, x + w, y + h], fill=colour, outline=(15, 15, 15), width=7)
    return numpy.array(image.resize((SIDE, SIDE), Image.Resampling.BOX))


def screenshot(seed, photograph):
    random = numpy.random.default_rng(seed)
    image = Image.new("RGB", (SIDE * 3 // 2, SIDE), (246, 245, 244))
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    pen.rectangle([0, 0, image.width, 36], fill=(222, 221, 218))
    for i in range(9):
        pen.text((14 + 78 * i, 10), random.choice(WORDS).title(), fill=(46, 52, 54), font=font)
    for i in range(17):
        y = 48 + 26 * i
        pen.rectangle([12, y, 200, y + 20], outline=(205, 199, 194), fill=(255, 255, 255))
        pen.text((18, y + 2), " ".join(random.choice(WORDS, 3)), fill=(46, 52, 54), font=font)
        pen.ellipse([210, y + 2, 226, y + 18], fill=tuple(random.integers(0, 255, 3)))
    part = Image.fromarray(rgb(photograph)).resize((480, 320), Image.Resampling.LANCZOS)
    image.paste(part, (260, 60))
    return numpy.array(image)


def gradient(bent):
    y, x = numpy.mgrid[0:SIDE, 0:SIDE] / SIDE
    if bent:
        return to_bytes(numpy.stack([255 * x * y, 60 + 150 * x**2, 220 - 160 * y**2], axis=2))
    return to_bytes(numpy.stack([30 + 190 * x, 60 + 120 * y, 200 - 90 * x - 60 * y], axis=2))


def sky(seed, colour):
    """A dark gradient with stars as a lens draws them, from bright to barely seen."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:SIDE, 0:SIDE].astype(float)
    values = numpy.repeat((14 + 16 * y / SIDE)[..., None], 3, axis=2) * ([1, 1.1, 1.5] if colour else 1)
    for _ in range(420):
        cx, cy = random.uniform(3, SIDE - 4, 2)
        light, width = 8 * 30 ** random.uniform(0, 1), random.uniform(0.6, 1.0)
        left, top = int(cx) - 4, int(cy) - 4
        box = numpy.s_[max(top, 0) : top + 10, max(left, 0) : left + 10]
        spot = light * numpy.exp(-((x[box] - cx) ** 2 + (y[box] - cy) ** 2) / (2 * width**2))
        tint = random.uniform(0.8, 1.2, 3) if colour else numpy.ones(3)
        values[box] += spot[..., None] * tint
    picture = to_bytes(values)
    return picture if colour else picture[..., 0]


def shaped_noise(seed, side, amplitude):
    """Gaussian texture whose spectrum's amplitude is a function of the frequency, deviation 1."""
    random = numpy.random.default_rng(seed)
    f = numpy.hypot(numpy.fft.fftfreq(side)[:, None], numpy.fft.rfftfreq(side)[None])
    f[0, 0] = 1
    spectrum = numpy.fft.rfft2(random.standard_normal((side, side))) * amplitude(f)
    spectrum[0, 0] = 0
    texture = numpy.fft.irfft2(spectrum, (side, side))
    return texture / texture.std()


def fractal(seed, power, deviation, colour):
    planes = [shaped_noise(seed + c, SIDE, lambda f: f**-power) for c in range(3 if colour else 1)]
    values = 128 + deviation * numpy.stack(planes, axis=2)
    return to_bytes(values if colour else values[..., 0])


def paper(seed, colour):
    """Blank: a shade, soft fibres, nothing else."""
    texture = shaped_noise(seed, SIDE, lambda f: numpy.exp(-((f / 0.05) ** 2)))
    y = numpy.mgrid[0:SIDE, 0:SIDE][0] / SIDE
    values = 236 - 10 * y + 1.2 * texture
    return to_bytes(numpy.stack([values, values - 3, values - 11], axis=2) if colour else values)


def grain(photograph, seed):
    """Film grain that belongs to the picture: soft clumps, strongest in the middle tones."""
    h, w = photograph.shape[:2]
    texture = shaped_noise(seed, max(h, w), lambda f: numpy.exp(-((f / 0.16) ** 2)))[:h, :w]
    tone = grey(photograph) / 255.0
    strength = 14 * 2 * numpy.sqrt(tone * (1 - tone))
    add = texture * strength
    return to_bytes(photograph + (add[..., None] if photograph.ndim == 3 else add))


# Printed and dithered


def halftone(photograph, angles=(15, 75, 0, 45), cell=5.0):
    """A scan of four inks' screens, as fine as its dots."""
    big = resized(rgb(photograph), 2)
    cmy = 1 - big / 255.0
    key = cmy.min(axis=2, keepdims=True)
    inks = numpy.concatenate([(cmy - key) / numpy.maximum(1 - key, 1e-6), key], axis=2)
    y, x = numpy.mgrid[0 : big.shape[0], 0 : big.shape[1]]
    paper_left = numpy.ones(big.shape)
    absorbs = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
    for ink, angle in enumerate(numpy.radians(angles)):
        u = (x * numpy.cos(angle) + y * numpy.sin(angle)) * numpy.pi / cell
        v = (y * numpy.cos(angle) - x * numpy.sin(angle)) * numpy.pi / cell
        dots = inks[..., ink] > 0.5 + 0.25 * (numpy.cos(u) + numpy.cos(v))
        paper_left *= 1 - 0.9 * dots[..., None] * numpy.array(absorbs[ink])
    return resized(to_bytes(255 * paper_left), 0.5, Image.Resampling.BOX)


def newsprint(photograph, cell=6.0):
    tone = grey(photograph) / 255.0
    y, x = numpy.mgrid[0 : tone.shape[0], 0 : tone.shape[1]]
    u, v = (x + y) * numpy.pi / cell, (x - y) * numpy.pi / cell
    return to_bytes(255.0 * (tone > 0.5 + 0.25 * (numpy.cos(u) + numpy.cos(v))))


def ordered(photograph, levels=4):
    matrix = numpy.array([[0]])
    for _ in range(3):
        matrix = numpy.block([[4 * matrix, 4 * matrix + 2], [4 * matrix + 3, 4 * matrix + 1]])
    h, w = photograph.shape[:2]
    threshold = numpy.tile((matrix + 0.5) / 64, (h // 8 + 1, w // 8 + 1))[:h, :w]
    if photograph.ndim == 3:
        threshold = threshold[..., None]
    step = 255 / (levels - 1)
    return to_bytes(numpy.floor(photograph / step + threshold) * step)


def gif(photograph, colours):
    image = Image.fromarray(photograph)
    palette = image.quantize(colours, dither=Image.Dither.NONE)
    return numpy.array(image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).convert("RGB"))


def diffused(photograph):
    return numpy.array(Image.fromarray(grey(photograph)).convert("1").convert("L"))


def smoothed(photograph):
    """What a filter left of a noisy photograph: patches of flat colour with sharp edges."""
    random = numpy.random.default_rng(photograph.size)
    noisy = (photograph + random.normal(0, 8, photograph.shape)) / 255
    axis = None if photograph.ndim == 2 else 2
    return to_bytes(255 * restoration.denoise_tv_chambolle(noisy, weight=0.07, channel_axis=axis))


def drawn():
    yield "text", "black", text_page(14, (0, 0, 0), (255, 255, 255), 1)
    yield "text", "small", grey(text_page(10, (20, 20, 20), (255, 255, 255), 2, columns=2))
    yield "text", "large", text_page(40, (10, 10, 60), (250, 246, 230), 3)
    yield "text", "inverse", text_page(13, (220, 220, 220), (30, 33, 36), 4)
    for quality in (40, 75, 90):
        yield "text-jpeg", f"black-{quality}", jpeg(text_page(14, (0, 0, 0), (255, 255, 255), 1), quality)
        yield "text-jpeg", f"toned-{quality}", jpeg(text_page(18, (60, 20, 10), (240, 232, 214), 5), quality)
        yield "text-jpeg", f"grey-{quality}", jpeg(grey(text_page(12, (0, 0, 0), (255, 255, 255), 6)), quality)
    for smooth in (False, True):
        name = "smooth" if smooth else "hard"
        yield "line-art", name, line_art(7, smooth)
        yield "line-art", f"{name}-colour", rgb(line_art(8, smooth))
        yield "line-art", f"{name}-few", line_art(9, smooth, lines=40)
    for seed in (10, 11):
        yield "cartoon", f"{seed}", cartoon(seed)
        yield "cartoon", f"{seed}-grey", grey(cartoon(seed))
        yield "cartoon", f"{seed}-jpeg75", jpeg(cartoon(seed), 75)
        yield "cartoon", f"{seed}-half", resized(cartoon(seed), 0.5)
    for bent in (False, True):
        yield "gradient", "bent" if bent else "straight", gradient(bent)
        yield "gradient", "bent-grey" if bent else "straight-grey", grey(gradient(bent))
    for colour in (False, True):
        name = "colour" if colour else "grey"
        yield "paper", name, paper(12, colour)
        yield "sky", name, sky(13, colour)
        for power in (0.8, 1.0, 1.2, 1.5):
            yield "fractal", f"{name}-{power}", fractal(14, power, 25, colour)
        yield "fractal", f"{name}-1.0-weak", fractal(17, 1.0, 12, colour)


def straightened(picture):
    """Rotated by two degrees, without what became of the borders."""
    image = Image.fromarray(picture)
    border = round(0.06 * min(image.size))
    turned = image.rotate(2, Image.Resampling.BICUBIC)
    return numpy.array(turned.crop((border, border, image.width - border, image.height - border)))


def in_perspective(picture):
    """As if falling lines had been set upright."""
    image = Image.fromarray(picture)
    shares = (1, 0.05, 0, 0.02, 1.03, 0, 0.0001, 0.0001)
    made = image.transform(image.size, Image.Transform.PERSPECTIVE, shares, Image.Resampling.BICUBIC)
    return numpy.array(made.crop((0, 0, round(0.85 * image.width), round(0.85 * image.height))))


def vignetted(picture):
    y, x = numpy.mgrid[-1 : 1 : picture.shape[0] * 1j, -1 : 1 : picture.shape[1] * 1j]
    light = numpy.clip(1.2 - 0.8 * (x * x + y * y), 0, 1)
    return to_bytes(picture * (light if picture.ndim == 2 else light[..., None]))


def made_from(name, picture):
    """Of one photograph, in colour or grey."""
    for quality in (30, 50, 75, 90, 95):
        yield f"jpeg{quality}", name, jpeg(picture, quality)
    yield "jpeg75-444", name, jpeg(picture, 75, subsampling=0)
    yield "half", name, resized(picture, 0.5)
    yield "half-box", name, resized(picture, 0.5, Image.Resampling.BOX)
    yield "half-jpeg85", name, jpeg(resized(picture, 0.5), 85)
    yield "enlarged", name, resized(picture, 2, Image.Resampling.BICUBIC)
    yield "enlarged-nearest", name, resized(picture, 2, Image.Resampling.NEAREST)
    yield "smaller", name, resized(picture, 0.8, Image.Resampling.BICUBIC)
    yield "larger", name, resized(picture, 1.1, Image.Resampling.BICUBIC)
    yield "straightened", name, straightened(picture)
    yield "straightened-jpeg92", name, jpeg(straightened(picture), 92)
    yield "perspective", name, in_perspective(picture)
    yield "vignetted", name, vignetted(picture)
    yield "sharpened", name, filtered(picture, ImageFilter.UnsharpMask(1.0, 150, 0))
    yield "sharpened-half", name, filtered(resized(picture, 0.5), ImageFilter.UnsharpMask(1.0, 100, 0))
    yield "denoised", name, smoothed(picture)
    yield "grain", name, grain(picture, 18)
    yield "ordered", name, ordered(picture)
    yield "diffused", name, diffused(picture)
    yield "newsprint", name, newsprint(picture)
    if picture.ndim == 3:
        yield "halftone", name, halftone(picture)
        yield "screenshot", name, screenshot(19, picture)
        for colours in (16, 64, 256):
            yield f"gif{colours}", name, gif(picture, colours)


def make(photographs, out):
    paths = []

    def write(kind, name, picture):
        path = out / kind / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path, compress_level=1)
        paths.append(path)
        if picture.ndim == 2:  # black and white in three equal channels, as most are kept
            write(kind, f"{name}-rgb", rgb(picture))
            write(kind, f"{name}-sepia", sepia(picture))

    for kind, name, picture in drawn():
        write(kind, name, picture)
    for name, picture in photographs.items():
        for kind, made, result in made_from(name, picture):
            write(kind, made, result)
    return paths
