# SPDX-License-Identifier: MIT
"""A layer that is too large for memory passes in bands of rows: the same bits, and nothing half done."""
import numpy as np
from gi.repository import Gegl, Gimp

import changes
from case_faults import REFUSED, code_for, pixels_of, same
from faults import judge
from harness import QUICK, REPORT, SUCCESS, add_layer, call, denoise, native_pixels, new_image, reports
from pauses import STAGES, host_memory, meanwhile

WIDTH, HEIGHT = 331, 1203  # the last band and the last stripe of rows are not whole
RGB, GRAY = Gimp.ImageBaseType.RGB, Gimp.ImageBaseType.GRAY
SELECTIONS = {"": lambda image: None,
              ", part selected": lambda image: image.select_ellipse(Gimp.ChannelOps.REPLACE, 17, 45, 290, 1101)}
AUTOMATIC = {"method": "nlm", "auto_sigma": True, "search": 7}
BM3D = {"method": "bm3d", "quality": "fast", "auto_sigma": True}
# Precision, kind, alpha, settings. Other precisions than 8 and 16 bits are converted on their way.
LAYERS = [("U8_NON_LINEAR", RGB, False, QUICK), ("U8_NON_LINEAR", RGB, False, AUTOMATIC),
          ("U8_NON_LINEAR", GRAY, False, AUTOMATIC), ("U8_NON_LINEAR", RGB, True, BM3D),
          ("U16_LINEAR", RGB, True, QUICK), ("FLOAT_LINEAR", GRAY, True, AUTOMATIC),
          ("FLOAT_NON_LINEAR", RGB, False, QUICK), ("HALF_LINEAR", RGB, False, AUTOMATIC)]


def large_picture(precision="U8_NON_LINEAR", base=RGB, alpha=False, select=SELECTIONS[""]):
    image = new_image(base, getattr(Gimp.Precision, precision), WIDTH if base == RGB else 3 * WIDTH, HEIGHT)
    layer = add_layer(image, alpha)
    select(image)
    image.clean_all()
    return image, layer


def check_same_bits(precision, base, alpha, settings, select):
    image, layer = large_picture(precision, base, alpha, select)
    before = native_pixels(layer).copy()
    whole, = denoise(image, [layer], **settings)
    assert whole["bands"] == 1, whole
    expected = native_pixels(layer).copy()
    assert not np.array_equal(before, expected)
    image, layer = large_picture(precision, base, alpha, select)
    with host_memory(1):
        bands, = denoise(image, [layer], **settings)
    assert bands["bands"] > 1 and bands["sigma"] == whole["sigma"], (bands, whole)
    assert np.array_equal(native_pixels(layer), expected)


def check_nothing_to_do():
    image, layer = large_picture()
    before = native_pixels(layer).copy()
    with host_memory(1):
        report, = denoise(image, [layer], **(QUICK | {"sigma": 0.0}))
    assert not report["changed"] and report["note"] and report["bands"] == 1, report
    assert np.array_equal(native_pixels(layer), before) and not image.is_dirty()


def two_layers():
    image, layer = large_picture(select=lambda image: image.select_rectangle(Gimp.ChannelOps.REPLACE, 13, 7, 290, 1100))
    return image, layer, add_layer(image, seed=9, name="other")


def check_refused(fault, text, sentence, stage):
    """Somebody changes the image while bands come and go."""
    image, layer, other = two_layers()
    exec(text, {"Gimp": Gimp, "Gegl": Gegl, "image": image, "layer": layer, "other": other})
    expected = pixels_of(image)
    image, layer, other = two_layers()
    with host_memory(1), meanwhile(STAGES[stage], code_for(image, layer, other, text)):
        status, message = call(image, [layer], **QUICK)
    problem = ""
    if status != REFUSED or sentence not in message or "\n" in message.strip():
        problem = f"not one sentence with “{sentence}”"
    elif not same(pixels_of(image), expected):
        problem = "pixels are not what the user's change made of them"
    judge(fault + ", layer in bands", stage, "batch", "one sentence, no pixel denoised",
          f"{status.value_nick}: {message}", problem)


def check_killed(stage):
    image, layer = large_picture()
    before = native_pixels(layer).copy()
    with host_memory(1), meanwhile(STAGES[stage], "os.kill(filter_pid, 9); time.sleep(0.1)"):
        status, message = call(image, [layer], **QUICK)
    changed = not same([native_pixels(layer)], [before]) or image.is_dirty()
    REPORT.unlink(missing_ok=True)
    again = call(image, [layer], **QUICK)[0] == SUCCESS and reports()[0]["changed"]
    problem = "the image has changed" if changed else "" if again and status != SUCCESS else "not told, or no next run"
    judge("kill -9 of the plug-in, layer in bands", stage, "batch", "an error, no pixel changes",
          f"{status.value_nick}: {message}", problem)


def cases():
    for precision, base, alpha, settings in LAYERS:
        for title, select in SELECTIONS.items():
            name = f"{precision} {base.value_nick}{' alpha' if alpha else ''}, {settings['method']}"
            noise = " auto" if settings["auto_sigma"] else ""
            yield (f"bands: {name}{noise}{title}",
                   lambda p=precision, b=base, a=alpha, s=settings, f=select: check_same_bits(p, b, a, s, f))
    yield "bands: nothing to do", check_nothing_to_do
    refused = {fault: (text, sentence) for fault, text, sentence in changes.REFUSED}
    for fault in ("selection moved", "image cropped", "precision converted", "layer deleted", "one pixel painted"):
        for stage in list(STAGES)[fault in changes.ONCE_READ:]:
            yield f"bands: {fault} at the {stage}", lambda f=fault, at=stage: check_refused(f, *refused[f], at)
    for stage in STAGES:
        yield f"bands: kill -9 at the {stage}", lambda at=stage: check_killed(at)
