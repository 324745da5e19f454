# SPDX-License-Identifier: MIT
"""Every precision, grey and colour, with and without alpha, and colour profiles."""
import numpy as np
from gi.repository import Gimp

import pauses
from harness import (HEIGHT, QUICK, SIGMA, WIDTH, add_layer, clean_picture, denoise, get_pixels, native_bytes, native_pixels,
                     new_image, noise_left, noisy_picture, set_pixels, with_alpha)

PRECISIONS = [name for kind in ("U8", "U16", "U32", "HALF", "FLOAT", "DOUBLE")
              for name in (f"{kind}_LINEAR", f"{kind}_NON_LINEAR", f"{kind}_PERCEPTUAL")]
# 8-bit steps that storing a picture in the precision costs: u8 linear has few levels in the shadows.
ROUNDING = {"U8_LINEAR": 1.6, "U8_NON_LINEAR": 0.7, "U8_PERCEPTUAL": 0.7}
results = {}  # what each combination became, to compare with the others


def alpha_bytes(layer):
    pixels = native_pixels(layer)
    return pixels[..., -(pixels.shape[-1] // (4 if layer.is_rgb() else 2)):]


def check_precision(name, base):
    image = new_image(base, getattr(Gimp.Precision, name))
    plain, clear = add_layer(image, alpha=False), add_layer(image, alpha=True)
    before = native_pixels(clear).copy()
    alpha = alpha_bytes(clear).copy()
    first, second = denoise(image, [plain, clear], **QUICK)
    assert first["changed"] and second["changed"] and first["method"] == "nlm"
    colours = 3 if plain.is_rgb() else 1
    assert np.allclose(first["sigma"], [SIGMA] * colours), first
    for layer in (plain, clear):
        assert noise_left(layer) < 0.55 * SIGMA, noise_left(layer)
    assert np.array_equal(alpha_bytes(clear), alpha), "alpha changed"
    assert np.array_equal(native_pixels(clear)[:, :5], before[:, :5]), "transparent pixels changed"
    results[name, base] = get_pixels(plain), ROUNDING.get(name, 0.05)


def check_agreement():
    """Sigma means one thing: the same picture comes out, whatever it was stored in."""
    for base in (Gimp.ImageBaseType.RGB, Gimp.ImageBaseType.GRAY):
        expected = results["FLOAT_PERCEPTUAL", base][0]
        for name in PRECISIONS:
            pixels, rounding = results[name, base]
            error = 255 * float(np.sqrt(np.mean((pixels - expected) ** 2)))
            assert error <= rounding, f"{name} {base}: {error}"


def linear_from_perceptual(v):
    return np.where(v <= 0.04045, v / 12.92, ((np.maximum(v, 0) + 0.055) / 1.055) ** 2.4)


def perceptual_from_linear(v):
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0) ** (1 / 2.4) - 0.055)


def lightness_from_linear(v):
    return np.where(v <= 216 / 24389, v * 24389 / 2700, 1.16 * np.cbrt(v) - 0.16)


def linear_from_lightness(v):
    return np.where(v <= 0.08, v * 2700 / 24389, ((v + 0.16) / 1.16) ** 3)


# Profile, its kind, and its curve from linear light and back.
PROFILES = {
    "Adobe RGB": (Gimp.ColorProfile.new_rgb_adobe, Gimp.ImageBaseType.RGB,
                  lambda v: v ** (256 / 563), lambda v: v ** (563 / 256)),
    "linear sRGB": (Gimp.ColorProfile.new_rgb_srgb_linear, Gimp.ImageBaseType.RGB, lambda v: v, lambda v: v),
    "grey, L* curve": (Gimp.ColorProfile.new_d50_gray_lab_trc, Gimp.ImageBaseType.GRAY,
                       lightness_from_linear, linear_from_lightness)}


def check_profile(title):
    """Whatever the profile's curve: what happens to a picture's perceptual values is the same."""
    make_profile, base, encode, decode = PROFILES[title]
    expected = results["FLOAT_PERCEPTUAL", base][0]
    image = new_image(base, Gimp.Precision.FLOAT_NON_LINEAR)
    layer = add_layer(image)
    values = encode(linear_from_perceptual(noisy_picture(3 if layer.is_rgb() else 1).astype(np.float64)))
    # The picture's own numbers first, then the profile: assigning one changes their meaning only.
    set_pixels(layer, values, "R'G'B' float" if layer.is_rgb() else "Y' float")
    image.set_color_profile(make_profile())
    denoise(image, [layer], **QUICK)
    native = native_pixels(layer).copy().view(np.float32).astype(np.float64)
    error = 255 * np.abs(perceptual_from_linear(decode(native)) - expected).max()
    assert error < 0.2, error  # what babl's own curves are off


def check_unusual_values():
    """NaN and infinity stay where they are, bit for bit, and values above white survive."""
    for precision in ("FLOAT_LINEAR", "FLOAT_NON_LINEAR", "HALF_LINEAR", "DOUBLE_PERCEPTUAL"):
        image = new_image(precision=getattr(Gimp.Precision, precision))
        layer = add_layer(image, alpha=True)
        pixels = with_alpha(noisy_picture(3), np.ones(WIDTH, np.float32))
        pixels[20:30, 40:60, :3] += 1.5
        pixels[10, 10, 0] = np.nan
        pixels[40, 50, 1] = np.inf
        set_pixels(layer, pixels)
        before = native_pixels(layer).copy()
        report = denoise(image, [layer], **QUICK)[0]
        after = native_pixels(layer)
        assert report["replaced_pixels"] == 2, report
        assert np.array_equal(after[10, 10], before[10, 10]), precision
        assert np.array_equal(after[40, 50], before[40, 50]), precision
        now = get_pixels(layer)
        others = np.ones((HEIGHT, WIDTH), bool)
        others[10, 10] = others[40, 50] = False
        assert np.isfinite(now[others]).all()
        error = 255 * np.abs(now[22:28, 44:56, :3] - 1.5 - clean_picture(3)[22:28, 44:56]).mean()
        assert error < SIGMA, error


def check_busy_machine(base, precision, make_profile, select=lambda image: None):
    """babl chooses its way of converting by the time that each takes, which says nothing on a busy machine: the bits are the
    same whatever it measures."""
    known = set()
    for seed in range(6):
        image = new_image(base, getattr(Gimp.Precision, precision))
        if make_profile:
            image.set_color_profile(make_profile())
        layers = [add_layer(image, alpha=alpha) for alpha in (False, True)]
        select(image)
        with pauses.environment(GRAINLESS_ODD_CLOCK=seed):
            denoise(image, layers, **QUICK)
        known.add(b"".join(native_bytes(layer) for layer in layers))
    assert len(known) == 1, f"{len(known)} results"


def soft_part(image):
    image.select_ellipse(Gimp.ChannelOps.REPLACE, 5, 4, 60, 45)
    Gimp.Selection.feather(image, 8)


def cases():
    for precision in ("U8_NON_LINEAR", "U16_NON_LINEAR", "U8_LINEAR", "HALF_NON_LINEAR", "FLOAT_LINEAR"):
        yield (f"rgb {precision}, part selected: the same bits on a busy machine",
               lambda p=precision: check_busy_machine(Gimp.ImageBaseType.RGB, p, None, soft_part))
    for base in (Gimp.ImageBaseType.RGB, Gimp.ImageBaseType.GRAY):
        for name in PRECISIONS:
            yield (f"{base.value_nick} {name}: noise goes, alpha stays",
                   lambda name=name, base=base: check_precision(name, base))
    yield "all precisions agree", check_agreement
    for title in PROFILES:
        yield f"profile {title}", lambda title=title: check_profile(title)
    yield "NaN, infinity and values above white", check_unusual_values
    for precision, profile in (("U8_LINEAR", None), ("U16_LINEAR", None), ("HALF_LINEAR", None), ("FLOAT_LINEAR", None),
                               ("U8_NON_LINEAR", "Adobe RGB"), ("U16_NON_LINEAR", "Adobe RGB"),
                               ("FLOAT_NON_LINEAR", "linear sRGB"), ("FLOAT_NON_LINEAR", "grey, L* curve")):
        for base in [PROFILES[profile][1]] if profile else [Gimp.ImageBaseType.RGB, Gimp.ImageBaseType.GRAY]:
            yield (f"{base.value_nick} {precision}{f', {profile}' * bool(profile)}: the same bits on a busy machine",
                   lambda base=base, precision=precision, profile=profile:
                   check_busy_machine(base, precision, profile and PROFILES[profile][0]))
