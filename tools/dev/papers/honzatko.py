# SPDX-License-Identifier: MIT
"""Honzatko (2015): BM3D's first stage on a GPU, with a DFT by cuFFT. His quality on lena, sigma
20, and his time for 9 megapixels."""

from steps import step

from .runs import grey, print_table, save, seconds, short

SYSTEMS = {
    "first stage, DFT": {"transform": "dft", "stages": "first"},
    "both stages, DFT, then DCT": {"transform": "dft"},
    "first stage, bior1.5": {"stages": "first"},
    "both stages, bior1.5, then DCT": {},
    "first stage, DCT": {"transform": "dct", "stages": "first"},
    "both stages, DCT, then DCT": {"transform": "dct"},
    "first stage, Hadamard": {"transform": "hadamard", "stages": "first"},
    "both stages, Hadamard, then DCT": {"transform": "hadamard"},
}
HIS_SYSTEM = "first stage, DFT"
HIS_DB = 32.27
HIS_SECONDS = {3000: 3.13}  # of 3000 x 3000, GTX 980
SIDES = (375, 750, 1500, 3000)


def run(session, images, options):
    return {"quality": quality(session, images), "times": times(session, options)}


def quality(session, images):
    results, rows = {}, []
    lena = save(grey(images / "Standard" / "lena_gray_512.tif"), session.folder / "lena.png")
    for name, parameters in SYSTEMS.items():
        step(f"Honzatko: {name}")
        noise = {"add-noise": 20, "seed": 1, "metrics": "all"}
        (report,) = session.denoise([lena], session.folder / "denoised.png", "bm3d", 20, **noise,
                                    **parameters)
        results[name] = report
        theirs = f"{HIS_DB:.2f}" if name == HIS_SYSTEM else ""
        rows.append([name, theirs, f"{report['psnr_after']:.2f}", f"{report['ssim_after']:.4f}",
                     f"{seconds(report):.3f}"])
    print_table("Honzátko: BM3D of lena, σ = 20",
                ["system", "his PSNR dB", "our PSNR dB", "our SSIM", "our s"], rows)
    return results


def times(session, options):
    results, rows = {}, []
    for side in SIDES[:1] if options.quick else SIDES:
        cells = [f"{side} × {side}", HIS_SECONDS.get(side, "")]
        for name, parameters in SYSTEMS.items():
            step(f"Honzatko's times: {side}, {name}")
            ours = session.milliseconds(f"Honzátko {side} × {side}, {name}", name, side * side,
                                        f"{side}x{side}", method="bm3d", sigma=20, **parameters)
            if ours is not None:
                results[f"{name} {side}"] = ours
            cells.append("left out" if ours is None else short(ours / 1000))
        rows.append(cells)
    print_table("Honzátko: seconds of a grey picture (his: first stage, DFT, GTX 980)",
                ["picture", "his", *SYSTEMS], rows)
    return results
