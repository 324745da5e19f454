#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""./dev quality --walk: photographs that nobody chose. walk.py OUT_DIR [IMAGES] [--draw N] [--seed NUMBER]
[--quality PROFILE] [--methods NAMES] [--weak] [--jobs N] [--json FILE] [--before FILE]

Draws N (600) photographs of Kodak24, Set12 and Standard, or crops, collages and mounted ones, gives them noise of odd
kinds (white, a camera's, coarse, of pixels enlarged twice, in one half or a spot alone, of brightness or colours alone, in
rows, heavy-tailed…) or none, edits them afterwards (straightened, resized, sharpened, toned, brightened…), stores them
as 8 bits or JPEG and filters them with everything automatic. What is compared with is the clean photograph, edited alike.

Prints those that became worse by more than 0.05 dB, and clean ones that keep less than 42 dB to what they were, the worst
first; then counts and means by noise, editing and method. This is a search, not a test: some draws always lose a little,
and RESULTS say how many (docs/quality.md). The same seed draws the same ones, the first of them however many; --weak
draws noise under 3 alone. All numbers go to FILE (OUT_DIR/walk.json); --before FILE is such a file of an earlier engine:
lists what has become worse since.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import statistics

import numpy
from PIL import Image
from scipy.ndimage import gaussian_filter, median_filter

from harm import load
from harm_pictures import jpeg, to_bytes
from quality import denoise, image_folder, pictures, print_table
from steps import fail, step

LIMIT, CLEAN = 0.05, 42.0  # dB
SIGMAS = (0, 0.7, 1, 2, 3, 5, 8, 12, 20)
JPEGS = (80, 90, 95)
METHODS = ("bm3d", "bm3d", "nlm", "sw-nlm", "dct")  # the default one twice as often


def decibel(difference):
    return float(10 * numpy.log10(255**2 / max(numpy.square(difference).mean(), 1e-6)))


def by_plane(pixels, transform):
    planes = [transform(Image.fromarray(plane.astype(numpy.float32))) for plane in numpy.moveaxis(pixels, 2, 0)]
    return numpy.stack([numpy.asarray(plane, dtype=float) for plane in planes], axis=2)


def from_middle(shape):
    """Distance from the picture's middle, 1 at the shorter side."""
    y, x = numpy.mgrid[: shape[0], : shape[1]]
    return numpy.hypot(y - shape[0] / 2, x - shape[1] / 2) / (min(shape[:2]) / 2)


def smoothed_like(noise, radius):
    smooth = gaussian_filter(noise, (radius, radius, 0))
    return smooth * noise.std() / max(smooth.std(), 1e-9)


def enlarged_twice(noise):
    rows, columns = noise.shape[:2]
    half = noise[: (rows + 1) // 2, : (columns + 1) // 2]
    return half.repeat(2, axis=0).repeat(2, axis=1)[:rows, :columns]


def heavy_tailed(noise, random):
    return random.laplace(0, noise.std() / 2**0.5, noise.shape)


# Of white noise, the clean picture and a generator.
NOISES = {
    "white": lambda n, clean, random: n,
    "camera": lambda n, clean, random: n * numpy.sqrt(numpy.maximum(clean, 5) / 128),
    "coarse": lambda n, clean, random: smoothed_like(n, random.uniform(0.4, 1.0)),
    "enlarged": lambda n, clean, random: enlarged_twice(n),
    "half": lambda n, clean, random: n * (numpy.arange(n.shape[1]) > n.shape[1] // 2)[:, None],
    "spot": lambda n, clean, random: n * (from_middle(n.shape) < 0.7)[..., None],
    "lightness": lambda n, clean, random: n[..., :1].repeat(n.shape[2], axis=2),
    "colours": lambda n, clean, random: n - n.mean(axis=2, keepdims=True) if n.shape[2] == 3 else n,
    "rows": lambda n, clean, random: 0.7 * (n + n.std() * random.standard_normal((n.shape[0], 1, 1))),
    "heavy": lambda n, clean, random: heavy_tailed(n, random),
    "dark": lambda n, clean, random: n * numpy.clip(1 - clean / 128, 0, 1),
}


def resized(pixels, factor, way):
    size = (max(24, round(pixels.shape[1] * factor)), max(24, round(pixels.shape[0] * factor)))
    return by_plane(pixels, lambda plane: plane.resize(size, way))


def straightened(pixels, degrees):
    rows, columns = pixels.shape[0] // 8, pixels.shape[1] // 8
    turned = by_plane(pixels, lambda plane: plane.rotate(degrees, Image.Resampling.BICUBIC))
    return turned[rows:-rows, columns:-columns]


def in_perspective(pixels, share):
    rows, columns = pixels.shape[:2]
    corners = (share * columns, 0, 0, rows, columns, rows, columns - share * columns, 0)
    return by_plane(
        pixels,
        lambda plane: plane.transform(plane.size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC),
    )


def sharpened(pixels, amount, radius):
    return pixels + amount * (pixels - gaussian_filter(pixels, (radius, radius, 0)))


def by_gamma(pixels, gamma):
    return 255 * numpy.sign(pixels) * (numpy.abs(pixels) / 255) ** gamma


def with_contrast(pixels, amount):
    t = numpy.clip(pixels / 255, 0, 1)
    return pixels + 510 * amount * t * (1 - t) * (2 * t - 1)


def saturated(pixels, factor):
    mean = pixels.mean(axis=2, keepdims=True)
    return mean + factor * (pixels - mean)


def warmed(pixels):
    return pixels * numpy.array([1.25, 1, 0.75]) if pixels.shape[2] == 3 else pixels


def greyed(pixels):
    return pixels @ numpy.array([[0.3], [0.59], [0.11]]) if pixels.shape[2] == 3 else pixels


def edits(random):
    """The edits with what is drawn of each, so that noisy and clean pictures get the same."""
    way = random.choice([Image.Resampling.BICUBIC, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR])
    smaller, larger, degrees = random.uniform(0.35, 0.9), random.uniform(1.1, 2), random.uniform(-6, 6)
    share, amount, radius = random.uniform(0.02, 0.1), random.uniform(0.5, 2), random.uniform(0.5, 1.3)
    gamma, contrast, factor = random.uniform(0.5, 0.85), random.uniform(0.3, 1), random.uniform(1.2, 1.8)
    return {
        "none": lambda p: p,
        "smaller": lambda p: resized(p, smaller, way),
        "larger": lambda p: resized(p[:400, :400], larger, way),
        "straightened": lambda p: straightened(p, degrees),
        "perspective": lambda p: in_perspective(p, share),
        "sharpened": lambda p: sharpened(p, amount, radius),
        "blurred": lambda p: gaussian_filter(p, (radius, radius, 0)),
        "median": lambda p: median_filter(p, (3, 3, 1)),
        "contrast": lambda p: with_contrast(p, contrast),
        "lifted": lambda p: by_gamma(p, gamma),
        "darkened": lambda p: by_gamma(p, 1 / gamma),
        "saturated": lambda p: saturated(p, factor),
        "warm": warmed,
        "grey": greyed,
        "vignette": lambda p: p * (1.2 - 0.5 * (from_middle(p.shape) ** 2 / 3))[..., None],
    }


def piece(clean, other, random):
    """(what, pixels): whole, cropped, above another photograph, or mounted on paper."""
    what = str(random.choice(["whole", "crop", "crop", "crop", "small", "collage", "mounted"]))
    rows, columns = clean.shape[:2]
    if what in ("crop", "small"):
        least, most = (64, 160) if what == "small" else (160, 480)
        high, wide = (min(int(random.integers(least, most)), side) for side in (rows, columns))
        y, x = int(random.integers(0, rows - high + 1)), int(random.integers(0, columns - wide + 1))
        return what, clean[y : y + high, x : x + wide]
    if what == "collage" and other.shape[2] == clean.shape[2]:
        below = other[: rows // 2, :columns]
        clean = clean.copy()
        clean[rows - below.shape[0] :, : below.shape[1]] = below
    if what == "mounted":
        paper = numpy.full((rows + 80, columns + 80, clean.shape[2]), 250.0)
        paper[40:-40, 40:-40] = clean
        clean = paper
    return what, clean


def drawn(number, paths, arguments):
    """(what was drawn, noisy as bytes, clean as float)."""
    random = numpy.random.default_rng([arguments.seed, number])
    path, other = (paths[int(random.integers(len(paths)))] for _ in range(2))
    what, clean = piece(*(numpy.atleast_3d(load(p)).astype(float) for p in (path, other)), random)
    sigma = float(random.choice([s for s in SIGMAS if s < 3 or not arguments.weak]))
    noise = str(random.choice(list(NOISES)))
    noisy = clean + NOISES[noise](random.standard_normal(clean.shape) * sigma, clean, random)
    # Most get their noise as bytes, and are edited in these.
    if random.random() < 0.7:
        noisy = to_bytes(noisy).astype(float)
    table = edits(random)
    edit = str(random.choice(list(table)))
    clean, noisy = numpy.clip(table[edit](clean), 0, 255), to_bytes(table[edit](noisy))
    store = "png" if random.random() < 0.7 else f"jpeg{random.choice(JPEGS)}"
    if store != "png":
        noisy = numpy.atleast_3d(jpeg(noisy.squeeze(), int(store[4:]), int(random.choice([0, 2]))))
    methods = [m for m in METHODS if m in arguments.methods]
    told = {"draw": number, "picture": path.stem, "piece": what, "size": list(clean.shape), "sigma": sigma}
    told |= {"noise": noise if sigma else "none", "edit": edit, "store": store, "method": str(random.choice(methods))}
    return told, noisy, clean


def walked(number, paths, arguments):
    told, noisy, clean = drawn(number, paths, arguments)
    source, target = (arguments.out / f"walk-{number}-{name}.png" for name in ("noisy", "result"))
    Image.fromarray(noisy.squeeze()).save(source, compress_level=1)
    options = ["--method", told["method"], "--quality", arguments.quality, "--device", arguments.device]
    if arguments.jobs > 1:
        options += ["--threads", 1]
    report = denoise(source, target, options)
    result = numpy.array(Image.open(target)).reshape(clean.shape).astype(float)
    source.unlink()
    target.unlink()
    return told | {
        "found": report["sigma"],
        "sure": report["confidence"],
        "before": decibel(noisy - clean),
        "after": decibel(result - clean),
        "own": decibel(result - noisy),
    }


def is_clean(row):
    return row["noise"] == "none" and row["store"] == "png"


def loss(row):
    """In dB; 0 of what has not lost."""
    change = row["own"] - CLEAN if is_clean(row) else row["after"] - row["before"] + LIMIT
    return min(0.0, change)


def cells(row):
    found = " ".join(f"{value:.1f}" for value in row["found"])
    about = [row["draw"], row["picture"], row["piece"], row["noise"], row["sigma"], row["edit"], row["store"]]
    levels = [f"{row[key]:.2f}" for key in ("before", "after", "own")]
    return [*map(str, about), row["method"], found, row["sure"], *levels]


COLUMNS = ["draw", "picture", "piece", "noise", "sigma", "edit", "store", "method", "found", "sure?", "before, dB",
           "after, dB", "to input, dB"]  # fmt: skip


def tell(rows, shown):
    lost = sorted((row for row in rows if loss(row) < 0), key=loss)
    print_table(f"Worse: {len(lost)} of {len(rows)}", COLUMNS, map(cells, lost[:shown]))
    for key in ("noise", "edit", "store", "piece", "method"):
        groups = collections.defaultdict(list)
        for row in rows:
            groups[row[key]].append(row)
        table = []
        for name, group in sorted(groups.items()):
            noisy = [row["after"] - row["before"] for row in group if not is_clean(row)]
            mean = f"{statistics.fmean(noisy):.2f}" if noisy else "-"
            table.append([name, str(len(group)), str(sum(loss(row) < 0 for row in group)), mean])
        print_table(f"By {key}", [key, "draws", "worse", "mean gain of noisy ones, dB"], table)


def compare(rows, earlier):
    before = {row["draw"]: row for row in json.loads(earlier.read_text(encoding="utf-8"))}
    both = [(before[row["draw"]], row) for row in rows if row["draw"] in before]
    changed = sorted(both, key=lambda pair: pair[1]["after"] - pair[0]["after"])
    lower = [(old, new) for old, new in changed if new["after"] < old["after"] - LIMIT]
    higher = sum(new["after"] > old["after"] + LIMIT for old, new in both)
    table = [[f"{old['after']:.2f}", *cells(new)] for old, new in lower[:30]]
    print_table(f"Lower than before: {len(lower)} of {len(both)}; higher: {higher}", ["before that", *COLUMNS], table)


def main():
    parser = argparse.ArgumentParser(prog="./dev quality --walk")
    parser.add_argument("out", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("images", nargs="?", metavar="FOLDER", help="folder of the test pictures")
    parser.add_argument("--draw", type=int, default=600, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weak", action="store_true", help="noise under 3 alone")
    parser.add_argument("--methods", nargs="+", choices=sorted(set(METHODS)), default=list(METHODS))
    parser.add_argument("--quality", choices=("fast", "normal", "high"), default="fast")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="pictures at a time, a thread each")
    parser.add_argument("--shown", type=int, default=40, help="of what has become worse")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    folder = image_folder(arguments.images)
    sets = [folder / name for name in ("Kodak24", "Kodak24", "Set12", "Standard") if (folder / name).is_dir()]
    if not sets:
        fail(f"{folder} has none of the folders Kodak24, Set12, Standard")
    paths = [path for one in sets for path in pictures(one)]
    step(f"{arguments.draw} draws of seed {arguments.seed}")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda number: walked(number, paths, arguments), range(arguments.draw)))
    (arguments.json or arguments.out / "walk.json").write_text(json.dumps(rows), encoding="utf-8")
    tell(rows, arguments.shown)
    if arguments.before:
        compare(rows, arguments.before)


if __name__ == "__main__":
    main()
