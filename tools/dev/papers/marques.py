# SPDX-License-Identifier: MIT
"""Marques & Pardo (2013): colour Non-Local Means by Condat's convolutions. Their two tables are
times against the picture's size and against the window's; the patch's hardly matters."""

from steps import step

from .runs import print_table

SIZES = ("128x128", "256x256", "512x512", "720x480", "1024x1024")
WINDOWS = (5, 7, 11, 21)
PATCHES = (3, 5, 7, 9, 11)
THEIR_MS = {("720x480", 21, 9): 88}  # GTX 680; the one time that is known of them


def cases(quick):
    if quick:
        return [("128x128", 5, 3)]
    found = [(size, 21, 9) for size in SIZES]
    found += [(size, window, 9) for size in ("512x512", "720x480") for window in WINDOWS]
    found += [("720x480", 21, patch) for patch in PATCHES]
    return list(dict.fromkeys(found))


def run(session, _images, options):
    results, rows = {}, []
    for size, window, patch in cases(options.quick):
        name = f"{size} {window}/{patch}"
        step(f"Marques & Pardo: {name}")
        width, height = map(int, size.split("x"))
        places = width * height * window * window
        ours = session.milliseconds(f"Marques & Pardo {name}", "colour nlm", places, size,
                                    channels=3, method="nlm", search=window, patch=patch, sigma=20)
        if ours is None:
            continue
        results[name] = ours
        rows.append([size, f"{window} × {window}", f"{patch} × {patch}",
                     THEIR_MS.get((size, window, patch), ""), f"{ours:.3f}",
                     f"{1e9 * ours / places:.1f}"])
    print_table("Márques & Pardo: NLM of colour against picture, window and patch",
                ["picture", "window", "patch", "their ms (GTX 680)", "our ms",
                 "ps a pixel and place"], rows)
    return results
