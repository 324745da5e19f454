# SPDX-License-Identifier: MIT
"""A layer of many tiles comes, is computed and goes at once, and one that is too large for memory, or a stack, does so in
bands of rows: the same bits, and nothing half done."""
import contextlib

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
STACK = "plug-in-grainless-denoise-stack"
STACK_SELECTIONS = {"": lambda image: None,
                    ", part selected": lambda image: image.select_ellipse(Gimp.ChannelOps.REPLACE, 17, 45, 130, 501)}
AUTOMATIC = {"method": "nlm", "auto_sigma": True, "search": 7}
BM3D = {"method": "bm3d", "quality": "fast", "auto_sigma": True}
UNSEEN = QUICK | {"impulse": "off"}  # nothing is measured: rows are read while others are computed
# Precision, kind, alpha, settings. Other precisions than 8 and 16 bits are converted on their way.
LAYERS = [("U8_NON_LINEAR", RGB, False, QUICK), ("U8_NON_LINEAR", RGB, False, AUTOMATIC),
          ("U8_NON_LINEAR", GRAY, False, AUTOMATIC), ("U8_NON_LINEAR", RGB, True, BM3D),
          ("U16_LINEAR", RGB, True, QUICK), ("FLOAT_LINEAR", GRAY, True, AUTOMATIC),
          ("FLOAT_NON_LINEAR", RGB, False, QUICK), ("HALF_LINEAR", RGB, False, AUTOMATIC),
          ("U8_NON_LINEAR", RGB, False, UNSEEN), ("U16_NON_LINEAR", GRAY, False, UNSEEN)]


def large_picture(precision="U8_NON_LINEAR", base=RGB, alpha=False, select=SELECTIONS[""]):
    image = new_image(base, getattr(Gimp.Precision, precision), WIDTH if base == RGB else 3 * WIDTH, HEIGHT)
    layer = add_layer(image, alpha)
    select(image)
    image.clean_all()
    return image, layer


def same_result(layers, expected, precision):
    """The same bits. Through a selection GIMP blends by threads that share the rows anew each time, and the last bit of a float
    follows (seen between two runs of one way, too)."""
    found = [native_pixels(layer) for layer in layers]
    kind = {"FLOAT": np.float32, "HALF": np.float16}.get(precision.split("_")[0])
    if kind is None or Gimp.Selection.is_empty(layers[0].get_image()):
        return same(found, expected)
    return all(np.abs(pixels.view(kind).astype(float) - other.view(kind)).max() <= np.finfo(kind).eps
               for pixels, other in zip(found, expected, strict=True))


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
    assert same_result([layer], [expected], precision)


# Of a stack. Method, precision, alpha, whether sigma is measured.
STACKS = [("bm3d", "U8_NON_LINEAR", False, True), ("nlm", "U16_LINEAR", True, False), ("nlm", "FLOAT_LINEAR", False, True)]


def stack_picture(precision, alpha, select):
    image = new_image(RGB, getattr(Gimp.Precision, precision), WIDTH // 2, HEIGHT // 2)
    layers = [add_layer(image, alpha, seed=seed, name=f"frame {seed}") for seed in range(1, 8)]
    select(image)
    image.clean_all()
    return image, layers


def check_same_bits_of_stack(method, precision, alpha, auto, select):
    """Seven layers, of which the filter measures five."""
    settings = {"procedure": STACK, "method": method, "quality": "fast", "auto_sigma": auto, "sigma": 12.0, "search": 5,
                "depth": 2}
    image, layers = stack_picture(precision, alpha, select)
    before = pixels_of(image)
    whole, = denoise(image, layers, **settings)
    expected = pixels_of(image)
    assert whole["bands"] == 1 and not any(same([a], [b]) for a, b in zip(before, expected, strict=True)), whole
    image, layers = stack_picture(precision, alpha, select)
    with host_memory(1):
        bands, = denoise(image, layers, **settings)
    assert bands["bands"] > 1 and bands["sigma"] == whole["sigma"] and bands["layers"] == 7, (bands, whole)
    assert same_result(image.get_layers(), expected, precision)


def check_stack_refused(fault, text, sentence, stage):
    image, layers = stack_picture("U8_NON_LINEAR", False, STACK_SELECTIONS[", part selected"])
    exec(text, {"Gimp": Gimp, "Gegl": Gegl, "image": image, "layer": layers[3], "other": layers[1]})
    expected = pixels_of(image)
    image, layers = stack_picture("U8_NON_LINEAR", False, STACK_SELECTIONS[", part selected"])
    with host_memory(1), meanwhile(STAGES[stage], code_for(image, layers[3], layers[1], text)):
        status, message = call(image, layers, procedure=STACK, auto_sigma=False, sigma=12.0, search=5, depth=1)
    problem = ""
    if status != REFUSED or sentence not in message or "\n" in message.strip():
        problem = f"not one sentence with “{sentence}”"
    elif not same(pixels_of(image), expected):
        problem = "pixels are not what the user's change made of them"
    judge(fault + ", stack in bands", stage, "batch", "one sentence, no pixel denoised",
          f"{status.value_nick}: {message}", problem)


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


def in_bands():
    return host_memory(1)


# Kind, where its memory ends, settings. Nothing is measured before the second one begins to compute.
WAYS = {"bands": (in_bands, QUICK), "flow": (contextlib.nullcontext, UNSEEN)}


def check_refused(fault, text, sentence, stage, way):
    """Somebody changes the image while rows come and go."""
    memory, settings = WAYS[way]
    image, layer, other = two_layers()
    exec(text, {"Gimp": Gimp, "Gegl": Gegl, "image": image, "layer": layer, "other": other})
    expected = pixels_of(image)
    image, layer, other = two_layers()
    with memory(), meanwhile(STAGES[stage], code_for(image, layer, other, text)):
        status, message = call(image, [layer], **settings)
    problem = ""
    if status != REFUSED or sentence not in message or "\n" in message.strip():
        problem = f"not one sentence with “{sentence}”"
    elif not same(pixels_of(image), expected):
        problem = "pixels are not what the user's change made of them"
    judge(f"{fault}, layer in {way}", stage, "batch", "one sentence, no pixel denoised",
          f"{status.value_nick}: {message}", problem)


def check_killed(stage, way):
    memory, settings = WAYS[way]
    image, layer = large_picture()
    before = native_pixels(layer).copy()
    with memory(), meanwhile(STAGES[stage], "os.kill(filter_pid, 9); time.sleep(0.1)"):
        status, message = call(image, [layer], **settings)
    changed = not same([native_pixels(layer)], [before]) or image.is_dirty()
    REPORT.unlink(missing_ok=True)
    again = call(image, [layer], **QUICK)[0] == SUCCESS and reports()[0]["changed"]
    problem = "the image has changed" if changed else "" if again and status != SUCCESS else "not told, or no next run"
    judge(f"kill -9 of the plug-in, layer in {way}", stage, "batch", "an error, no pixel changes",
          f"{status.value_nick}: {message}", problem)


def check_nothing_uncomputed(way):
    """The selection goes away after the last look at it, on a layer of many tiles, few of which lie around it as a whole."""
    memory, settings = WAYS[way]
    image, layer, other = two_layers()
    before = native_pixels(layer).copy()
    with memory(), meanwhile("merge 1", code_for(image, layer, other, "Gimp.Selection.none(image)")):
        status, _ = call(image, [layer], **settings)
    after = native_pixels(layer).reshape(HEIGHT, WIDTH, -1)
    changed = (after != before.reshape(after.shape)).any(axis=2)
    inside = np.zeros(changed.shape, bool)
    inside[7:1107, 13:303] = True
    ok = status == SUCCESS and changed[inside].mean() > 0.5 and not changed[~inside].any()
    judge(f"selection removed between the last check and the merge, layer in {way}", "merge", "batch",
          "no pixel outside of what was computed changes", status.value_nick, "" if ok else "such pixels changed")


def cases():
    for precision, base, alpha, settings in LAYERS:
        for title, select in SELECTIONS.items():
            name = f"{precision} {base.value_nick}{' alpha' if alpha else ''}, {settings['method']}"
            noise = " auto" if settings["auto_sigma"] else ""
            yield (f"bands: {name}{noise}{title}",
                   lambda p=precision, b=base, a=alpha, s=settings, f=select: check_same_bits(p, b, a, s, f))
    for stack in STACKS:
        for title, select in STACK_SELECTIONS.items():
            yield (f"bands: stack, {stack[0]}, {stack[1]}{title}",
                   lambda s=stack, f=select: check_same_bits_of_stack(*s, f))
    yield "bands: nothing to do", check_nothing_to_do
    refused = {fault: (text, sentence) for fault, text, sentence in changes.REFUSED}
    for fault in ("selection moved", "image cropped", "precision converted", "layer deleted", "one pixel painted"):
        for way in WAYS:
            for stage in list(STAGES)[fault in changes.ONCE_READ:]:
                yield f"{way}: {fault} at the {stage}", lambda f=fault, at=stage, w=way: check_refused(f, *refused[f], at, w)
    for fault, stage in (("selection moved", "middle"), ("layer deleted", "middle"), ("one pixel painted", "end")):
        yield (f"bands: {fault} at the {stage}, stack",
               lambda f=fault, at=stage: check_stack_refused(f, *refused[f], at))
    for way in WAYS:
        for stage in STAGES:
            yield f"{way}: kill -9 at the {stage}", lambda at=stage, w=way: check_killed(at, w)
        yield f"{way}: nothing uncomputed is merged", lambda w=way: check_nothing_uncomputed(w)
