# SPDX-License-Identifier: MIT
"""Van der Vuurst (2023): Non-Local Means (CNLM) and Shapiro-Wilk NLM on eight pictures of 512 x
512 over search radii 5, 8, 10, patch radii 1, 2, 3 and sigma 10 to 60, PSNR and mean SSIM, times,
and times of pictures up to the size of PolyU's photographs. His noise is rounded and clipped to 8
bits, as his noisy pictures' PSNR tells (mandril at sigma 40: 16.26 dB; 16.09 without clipping)."""

import concurrent.futures
import csv
import pathlib
import statistics

from steps import step

from .runs import add_noise, grey, measure, print_table, save, short, windows

METHODS = ("nlm", "sw-nlm")
HIS_NAMES = {"nlm": "CNLM", "sw-nlm": "SWNLM"}
# Mean SSIM of CNLM and SWNLM at sigma 40, radius 10, patch radius 3. He gives no other in print.
PICTURES = {
    "boat.png": (0.4342, 0.4911),
    "cameraman.tif": (0.3217, 0.4719),
    "house.tif": (0.2648, 0.5006),
    "lake.tif": (0.4739, 0.5340),
    "livingroom.tif": (0.4348, 0.4741),
    "mandril_gray.tif": (0.4962, 0.4405),
    "peppers_gray.tif": (0.4091, 0.5667),
    "jetplane.tif": (0.3619, 0.5111),
}
RADII, PATCH_RADII, SIGMAS = (5, 8, 10), (1, 2, 3), (10, 20, 30, 40, 50, 60)
IN_DETAIL = (40, 10, 3)  # sigma, radius, patch radius of the table by picture
# Seconds of 512 x 512: one core of a Ryzen 5 1600, GTX 1080. Medians over his pictures.
HIS_SECONDS = {
    ("nlm", 5, 1): (0.548, 0.016), ("nlm", 5, 2): (1.070, 0.025), ("nlm", 5, 3): (1.757, 0.044),
    ("nlm", 8, 1): (1.291, 0.041), ("nlm", 8, 2): (2.543, 0.061), ("nlm", 8, 3): (4.193, 0.099),
    ("nlm", 10, 1): (1.961, 0.083), ("nlm", 10, 2): (3.876, 0.101), ("nlm", 10, 3): (6.401, 0.148),
    ("sw-nlm", 5, 1): (5.31, 0.045), ("sw-nlm", 5, 2): (20.3, 0.114),
    ("sw-nlm", 5, 3): (46.7, 0.327), ("sw-nlm", 8, 1): (12.6, 0.099),
    ("sw-nlm", 8, 2): (48.4, 0.254), ("sw-nlm", 8, 3): (111.9, 0.779),
    ("sw-nlm", 10, 1): (19.2, 0.141), ("sw-nlm", 10, 2): (73.8, 0.386),
    ("sw-nlm", 10, 3): (170.7, 1.186),
}
# Seconds with radius 10 and patch radius 3 on the same machine.
SCALING = {
    ("324x216", "nlm"): (1.787, 0.040), ("324x216", "sw-nlm"): (45.54, 0.321),
    ("648x432", "nlm"): (7.158, 0.158), ("648x432", "sw-nlm"): (182.2, 1.263),
    ("1296x864", "nlm"): (28.60, 0.635), ("1296x864", "sw-nlm"): (730.0, 5.077),
    ("2592x1728", "nlm"): (114.4, 2.541), ("2592x1728", "sw-nlm"): (2922, 20.31),
}


def his_psnr():
    """(picture, sigma, method) -> {"radius/patch radius": dB}."""
    with open(pathlib.Path(__file__).with_name("vuurst.csv"), encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (row.pop("picture"), int(row.pop("sigma")), row.pop("method")): {
                system: float(value) for system, value in row.items()
            }
            for row in rows
        }


def run(session, images, options):
    found = Pictures(session, images, options).run()
    theirs = his_psnr()
    print_pictures(found, theirs, options)
    print_means(found, theirs, options)
    return {
        "pictures": list(found.values()),
        "times": times(session, options),
        "scaling": scaling(session, options),
    }


def systems(options):
    return [(method, radius, patch)
            for method in METHODS for radius in options.radii for patch in options.patch_radii]


class Pictures:
    """His eight pictures through every system."""

    def __init__(self, session, images, options):
        self.session, self.options = session, options
        self.folder = session.folder / "vuurst"
        self.clean = {name: grey(images / "Standard" / name) for name in options.pictures}

    def run(self):
        """(method, radius, patch radius, sigma) -> the system, and its figures a picture."""
        noisy = {sigma: self.make_noisy(sigma) for sigma in self.options.sigmas}
        keys = [(*system, sigma) for system in systems(self.options) for sigma in noisy]
        step(f"van der Vuurst: {len(keys)} systems, {self.session.jobs} at a time")
        with concurrent.futures.ThreadPoolExecutor(self.session.jobs) as pool:
            return dict(zip(keys, pool.map(lambda key: self.system(*key, noisy[key[-1]]), keys)))

    def make_noisy(self, sigma):
        files = []
        for number, (name, pixels) in enumerate(self.clean.items(), 1):
            stem = pathlib.Path(name).stem
            save(pixels, self.folder / "clean" / f"{stem}.png")
            noisy = add_noise(pixels, sigma, [number, sigma])
            files.append(save(noisy, self.folder / f"noisy-{sigma}" / f"{stem}.png"))
        return files

    def system(self, method, radius, patch, sigma, noisy):
        results = self.folder / f"{method}-{radius}-{patch}-{sigma}"
        results.mkdir(exist_ok=True)
        self.session.denoise(noisy, results, method, sigma, **windows(radius, patch))
        clean = self.folder / "clean"
        metrics = [measure(clean / path.name, results / path.name) for path in noisy]
        return {
            "method": method, "radius": radius, "patch_radius": patch, "sigma": sigma,
            "psnr": dict(zip(self.clean, (m["psnr"] for m in metrics), strict=True)),
            "ssim": dict(zip(self.clean, (m["ssim"] for m in metrics), strict=True)),
        }


def print_pictures(found, theirs, options):
    sigma, radius, patch = IN_DETAIL
    systems = {method: found.get((method, radius, patch, sigma)) for method in METHODS}
    if None in systems.values():
        return
    values = {}
    for name in options.pictures:
        values[name] = []
        for i, (method, system) in enumerate(systems.items()):
            his = theirs[name, sigma, method][f"{radius}/{patch}"]
            values[name] += [his, system["psnr"][name], PICTURES[name][i], system["ssim"][name]]
    values["mean"] = [statistics.fmean(column) for column in zip(*values.values())]
    rows = [[name, *(f"{value:.{4 if i % 4 > 1 else 2}f}" for i, value in enumerate(cells))]
            for name, cells in values.items()]
    columns = ["picture"]
    for method in METHODS:
        columns += [f"his {HIS_NAMES[method]} dB", f"our {method} dB", "his MSSIM", "ours"]
    print_table(f"Van der Vuurst: σ = {sigma}, radius {radius}, patch radius {patch}", columns,
                rows)


def print_means(found, theirs, options):
    """Means of the pictures over all systems, and of the best system of each noise."""
    for method in METHODS:
        rows, best = [], {sigma: [] for sigma in options.sigmas}
        for radius in options.radii:
            for patch in options.patch_radii:
                cells = [f"{radius}/{patch}"]
                for sigma in options.sigmas:
                    system = found[method, radius, patch, sigma]
                    his = statistics.fmean(theirs[name, sigma, method][f"{radius}/{patch}"]
                                           for name in options.pictures)
                    ours = statistics.fmean(system["psnr"].values())
                    ssim = statistics.fmean(system["ssim"].values())
                    best[sigma].append((his, ours, ssim))
                    cells.append(f"{his:.2f} {ours:.2f} {ssim:.4f}")
                rows.append(cells)
        rows.append(["the best"])
        for of_sigma in best.values():
            his, ours, ssim = map(max, zip(*of_sigma))
            rows[-1].append(f"{his:.2f} {ours:.2f} {ssim:.4f}")
        print_table(f"Van der Vuurst: {HIS_NAMES[method]}, means of {len(options.pictures)} "
                    "pictures: his PSNR, ours, our MSSIM",
                    ["radius/patch radius", *(f"σ={sigma}" for sigma in options.sigmas)], rows)


def times(session, options):
    results, rows = {}, []
    for method, radius, patch in systems(options):
        name = f"{method} {radius}/{patch}"
        step(f"van der Vuurst: time of {name}")
        ours = session.milliseconds(f"van der Vuurst 512 × 512 {name}", name, 512 * 512, "512x512",
                                    method=method, sigma=20, **windows(radius, patch))
        results[name] = ours
        rows.append([method, f"{radius}/{patch}", *HIS_SECONDS[method, radius, patch],
                     short(ours / 1000)])
    print_table("Van der Vuurst: seconds of 512 × 512 (his: Ryzen 5 1600, one core; GTX 1080)",
                ["method", "radius/patch radius", "his processor", "his GPU", "ours"], rows)
    return results


def scaling(session, options):
    results, rows = {}, []
    for (size, method), his in list(SCALING.items())[: 2 if options.quick else None]:
        step(f"van der Vuurst: {method} of {size}")
        width, height = map(int, size.split("x"))
        ours = session.milliseconds(f"van der Vuurst {size} {method}", method, width * height, size,
                                    method=method, sigma=20, **windows(10, 3))
        if ours is not None:
            results[f"{size} {method}"] = ours
        rows.append([size, method, *his, "left out" if ours is None else short(ours / 1000)])
    print_table("Van der Vuurst: seconds up to the size of PolyU's photographs, radius 10, patch "
                "radius 3 (his: Ryzen 5 1600, one core; GTX 1080)",
                ["picture", "method", "his processor", "his GPU", "ours"], rows)
    return results
