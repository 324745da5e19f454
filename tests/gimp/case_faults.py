# SPDX-License-Identifier: MIT
"""The image changes while the filter works, GIMP refuses, the process dies: never is anything half done."""
import functools
import os
import pathlib
import signal
import time

import numpy as np
from gi.repository import Gegl, Gimp

import card_faults
import changes
from card_faults import Installed
from faults import judge
from harness import QUICK, SUCCESS, add_layer, call, denoise, native_pixels, new_image
from pauses import FOLDER, MEMORY, STAGES, clear, environment, meanwhile, no_memory

STACK = {"procedure": "plug-in-grainless-denoise-stack", "auto_sigma": False, "sigma": 12.0, "search": 5, "depth": 1}
REFUSED = Gimp.PDBStatusType.EXECUTION_ERROR


def new_picture(count=1):
    """An image with layers to denoise, one above them, and a selection."""
    image = new_image()
    layers = [add_layer(image, seed=seed, name=f"layer {seed}") for seed in range(1, count + 1)]
    other = add_layer(image, seed=9, name="other")
    image.select_rectangle(Gimp.ChannelOps.REPLACE, 13, 7, 31, 22)
    image.clean_all()
    return image, layers, other


def code_for(image, layer, other, text):
    return changes.code(image.get_id(), layer.get_id(), other.get_id(), text)


def pixels_of(image):
    """Of all layers, when the image still exists."""
    if not image.is_valid():
        return None
    return [native_pixels(layer).copy() for layer in image.get_layers()]


def same(a, b):
    if a is None or b is None:
        return a is b
    return len(a) == len(b) and all(np.array_equal(p, q) for p, q in zip(a, b))


def after_the_change(count, text):
    """What the change alone makes of the picture."""
    image, layers, other = new_picture(count)
    scope = {"Gimp": Gimp, "Gegl": Gegl, "image": image, "layer": layers[0], "other": other}
    exec(text, scope)
    return pixels_of(image)


def check_refused(fault, text, sentence, stage, arguments, count):
    expected = after_the_change(count, text)
    image, layers, other = new_picture(count)
    with meanwhile(STAGES[stage], code_for(image, layers[0], other, text)):
        status, message = call(image, layers, **arguments)
    problem = ""
    if status != REFUSED or sentence not in message or "\n" in message.strip():
        problem = f"not one sentence with “{sentence}”"
    elif not same(pixels_of(image), expected):
        problem = "pixels are not what the user's change made of them"
    kind = ", stack" if count > 1 else ""
    judge(fault + kind, stage, "batch", "one sentence, no pixel denoised", f"{status.value_nick}: {message}", problem)


def check_allowed(fault, text, arguments, stage="middle"):
    image, layers, other = new_picture()
    assert call(image, layers, **arguments)[0] == SUCCESS
    expected = native_pixels(layers[0]).copy()
    image, layers, other = new_picture()
    with meanwhile(STAGES[stage], code_for(image, layers[0], other, text)):
        status, message = call(image, layers, **arguments)
    ok = status == SUCCESS and np.array_equal(native_pixels(layers[0]), expected)
    judge(fault, stage, "batch", "denoised", f"{status.value_nick}: {message}", "" if ok else "not the usual result")


def check_selection_appears():
    """All was to be denoised, and now only a part is selected."""
    image = new_image()
    layer, other = add_layer(image), add_layer(image, seed=9)
    before = pixels_of(image)
    with meanwhile(STAGES["middle"], code_for(image, layer, other,
                                              "image.select_rectangle(Gimp.ChannelOps.REPLACE, 3, 3, 9, 9)")):
        status, message = call(image, [layer], **QUICK)
    ok = status == REFUSED and changes.SELECTION in message and same(pixels_of(image), before)
    judge("selection made", "middle", "batch", "one sentence, no pixel denoised", f"{status.value_nick}: {message}",
          "" if ok else "not so")


def check_stack_order(stage):
    image, layers, other = new_picture(3)
    before = pixels_of(image)
    text = "image.lower_item_to_bottom(other); image.raise_item_to_top(layer)"
    with meanwhile(STAGES[stage], code_for(image, layers[0], other, text)):
        status, message = call(image, layers, **STACK)
    after = [native_pixels(layer) for layer in [other, *reversed(layers)]]
    ok = status == REFUSED and "The order of the layers changed" in message and same(after, before)
    judge("layers put in another order, stack", stage, "batch", "one sentence, no pixel denoised",
          f"{status.value_nick}: {message}", "" if ok else "not so")


def check_second_layer(arguments):
    """What happens to the last of several layers keeps all of them as they are."""
    for fault, text, sentence in (("last of three layers deleted", "image.remove_layer(other)", changes.GONE),
                                  ("last of three layers painted", "other.set_pixel(20, 16, Gegl.Color.new('red'))",
                                   changes.PIXELS),
                                  ("last of three layers locked", "other.set_lock_content(True)", "are locked")):
        image, layers, _ = new_picture(3)
        first_two = [native_pixels(layer).copy() for layer in layers[:2]]
        with meanwhile("progress 0.95", code_for(image, layers[0], layers[2], text)):
            status, message = call(image, layers, **arguments)
        ok = (status == REFUSED and sentence in message
              and same([native_pixels(layer) for layer in layers[:2]], first_two))
        judge(fault, "end", "batch", "one sentence, no layer denoised", f"{status.value_nick}: {message}",
              "" if ok else "not so")


SECOND_RUN = """procedure = Gimp.get_pdb().lookup_procedure('plug-in-grainless-denoise')
config = procedure.create_config()
config.set_property('image', image)
config.set_core_object_array('drawables', [layer])
config.set_property('auto-sigma', False)
config.set_property('sigma', 0.0)
procedure.run(config)
"""
# What others do with the shadow buffer, which a layer has but one of: with some of their pixels in it, and at their end.
SHADOWS = {"another plug-in ends that worked on the layer, too": "layer.get_shadow_buffer()\nlayer.free_shadow()",
           "another plug-in writes new pixels of the layer": "buffer = layer.get_shadow_buffer()\n"
           "buffer.set(Gegl.Rectangle.new(20, 15, 4, 4), \"R'G'B' u8\", bytes(48))\nbuffer.flush()"}


def check_shadow(fault, text, arguments, count):
    """The new pixels wait for the merge, and aren't there any more."""
    image, layers, other = new_picture(count)
    before = pixels_of(image)
    with meanwhile(STAGES["end"], code_for(image, layers[0], other, text)):
        status, message = call(image, layers, **arguments)
    ok = status == REFUSED and changes.CROSSED in message and same(pixels_of(image), before)
    judge(fault + (", stack" if count > 1 else ""), "end", "batch", "one sentence, no pixel changes",
          f"{status.value_nick}: {message}", "" if ok else "not so")


def check_painted_after_the_comparison(arguments, count):
    """The pixels of one layer are compared after those of another, on which the user paints then."""
    text = "layer.set_pixel(20, 16, Gegl.Color.new('red'))"
    expected = after_the_change(count, text)
    image, layers, other = new_picture(count)
    with meanwhile("glimpse 2", code_for(image, layers[0], other, text)):
        status, message = call(image, layers, **arguments)
    ok = status == REFUSED and changes.PIXELS in message and same(pixels_of(image), expected)
    judge(f"first of {count} layers painted after its comparison" + (", stack" if "procedure" in arguments else ""), "check",
          "batch", "one sentence, no pixel denoised", f"{status.value_nick}: {message}", "" if ok else "not so")


EFFECT = "layer.append_filter(Gimp.DrawableFilter.new(layer, 'gegl:gaussian-blur', 'blur'))"


def check_looks_different():
    """An effect appears after the comparison: the layer looks different, and its pixels are the same."""
    image, layers, other = new_picture(2)
    assert call(image, layers, **QUICK)[0] == SUCCESS
    expected = pixels_of(image)
    image, layers, other = new_picture(2)
    with meanwhile("glimpse 2", code_for(image, layers[0], other, EFFECT)):
        status, message = call(image, layers, **QUICK)
    ok = status == SUCCESS and same(pixels_of(image), expected)
    judge("a layer gets an effect after its comparison", "check", "batch", "denoised", f"{status.value_nick}: {message}",
          "" if ok else "not the usual result")


def check_nothing_uncomputed(arguments, count):
    """The selection goes away after the last look at it: what nobody computed stays as it was all the same."""
    for text in ("Gimp.Selection.none(image)", "Gimp.Selection.translate(image, 9, 9)"):
        image, layers, other = new_picture(count)
        before = pixels_of(image)
        with meanwhile("merge 1", code_for(image, layers[0], other, text)):
            status, _ = call(image, layers, **arguments)
        computed = np.zeros(before[0].shape[:2], bool)
        computed[7:29, 13:44] = True
        ok = all(np.array_equal(old[~computed], new[~computed]) for old, new in zip(before, pixels_of(image)))
        judge("selection changed between the last check and the merge" + (", stack" if count > 1 else ""), "merge", "batch",
              "no pixel outside of what was computed changes", status.value_nick, "" if ok else "such pixels changed")


def check_merge_refused(arguments, count):
    """A refusal is told as it is: nothing changed, or so many layers, which one undo step takes back."""
    for refused in range(1, count + 1):
        image, layers, _ = new_picture(count)
        before = [native_pixels(layer).copy() for layer in layers]
        clear()
        (FOLDER / "refuse").write_text(str(refused), encoding="utf-8")
        try:
            status, message = call(image, layers, **arguments)
        finally:
            clear()
        changed = [not np.array_equal(native_pixels(layer), old) for layer, old in zip(layers, before)]
        told = (f"GIMP took the new pixels of {refused - 1} of {count} layers" if refused > 1
                else "GIMP did not take the new pixels; nothing was changed.")
        ok = status == REFUSED and told in message and sum(changed) == refused - 1
        judge(f"GIMP refuses the pixels of layer {refused} of {count}" + (", stack" if "procedure" in arguments else ""),
              "merge", "batch", "says exactly what changed", f"{status.value_nick}: {message}",
              "" if ok else f"{sum(changed)} layers changed")


def check_killed(stage, arguments, count):
    """The filter's process is killed: its caller hears of it, no pixel has changed, and the next run works."""
    image, layers, _ = new_picture(count)
    before = pixels_of(image)
    with meanwhile(STAGES[stage], "os.kill(filter_pid, 9); time.sleep(0.1)"):
        status, message = call(image, layers, **arguments)
    problem = ""
    if status == SUCCESS:
        problem = "the caller was told that all went well"
    elif not same(pixels_of(image), before) or image.is_dirty():
        problem = "the image has changed"
    elif call(image, layers, **arguments)[0] != SUCCESS:
        problem = "the next run fails"
    judge("kill -9 of the plug-in" + (", stack" if count > 1 else ""), stage, "batch", "an error, no pixel changes",
          f"{status.value_nick}: {message}", problem)


MEASURED = QUICK | {"auto_sigma": True}


@functools.cache
def undisturbed(layers, arguments):
    """What the pixels become when nothing fails."""
    image, chosen, _ = new_picture(layers)
    assert call(image, chosen, **dict(arguments))[0] == SUCCESS
    return pixels_of(image)


def check_memory(stage, count, size, arguments, layers):
    """An allocation fails: one sentence and no pixel changed, or the same pixels without it. Whether one was refused."""
    expected = undisturbed(layers, tuple(arguments.items()))
    image, chosen, _ = new_picture(layers)
    before = pixels_of(image)
    with no_memory(stage, count, size) as failed:
        status, message = call(image, chosen, **arguments)
        refused = failed()
    after = pixels_of(image)
    done = status == SUCCESS and same(after, expected)
    told = status == REFUSED and "enough memory" in message and "\n" not in message.strip() and same(after, before)
    said = "done" if status == SUCCESS else f"{status.value_nick}: {message}"
    problem = "" if done or told else "not so"
    return refused, said, "the image counts as changed" if told and image.is_dirty() else problem


def check_memory_at(stage, arguments, layers):
    """The first allocations of that stage as large as a part of the picture, one at a time; then all from the first on."""
    seen, problems = [], []
    for count in ("1", "2", "3", "4", "1+"):
        refused, said, problem = check_memory(MEMORY[stage], count, 4096, arguments, layers)
        if refused:
            seen.append(said)
        if problem:
            problems.append(f"allocation {count}: {problem} ({said})")
    judge("out of host memory" + (", stack" if layers > 1 else ""), stage, "batch",
          "one sentence and no pixel changes, or the same pixels without it", "; ".join(dict.fromkeys(seen)),
          "; ".join(problems) if problems else "" if seen else "nothing asked for memory")


def check_any_memory(arguments, layers):
    """A spread of all allocations, small ones too; GRAINLESS_ALLOCATIONS=2000 tries each from the 2000th on."""
    each_from = int(os.environ.get("GRAINLESS_ALLOCATIONS", "0"))
    problems, count, tried = [], each_from or 1, 0
    while True:
        refused, said, problem = check_memory("begin 0", str(count), 1, arguments, layers)
        if problem:
            problems.append(f"allocation {count}: {problem} ({said})")
        if not refused:
            break
        count, tried = count + 1 + (0 if each_from else count // 3), tried + 1
    judge("out of host memory at an allocation" + (", stack" if layers > 1 else ""), "anywhere, one by one", "batch",
          "one sentence and no pixel changes, or the same pixels without it", f"as expected at {tried} of {count}",
          "; ".join(problems))


def settings_file(name):
    folder = pathlib.Path(Gimp.directory()) / "plug-in-settings"
    folder.mkdir(exist_ok=True)
    return folder / f"GimpProcedureConfigRun-{name}.last"


def check_settings(fault, contents):
    """Settings of the last run that can't be read: the defaults are used."""
    path = settings_file("plug-in-grainless-denoise")
    image, layers, _ = new_picture()
    expected = call(image, layers)[0], native_pixels(layers[0]).copy()
    image, layers, _ = new_picture()
    if contents is None:
        path.mkdir()
    else:
        path.write_bytes(contents)
    try:
        status, message = call(image, layers, run_mode=Gimp.RunMode.WITH_LAST_VALS)
    finally:
        path.rmdir() if contents is None else path.unlink()
    ok = status == SUCCESS == expected[0] and np.array_equal(native_pixels(layers[0]), expected[1])
    judge(fault, "begin", "batch", "the defaults are used", f"{status.value_nick}: {message}",
          "" if ok else "not the defaults' result")


SETTINGS = {"settings file of random bytes": bytes(range(256)) * 4,
            "settings file cut off": b'# settings\n\n(method "nl',
            "settings file empty": b"",
            "settings with values out of range": b'(sigma 1e9)\n(search -5)\n(method "median")\n(strength nan)\n',
            "settings file is a folder": None}


def check_card(fault, stage, says, contents, settings):
    """A module or a card that can't do it: the processor or another card does, with the same pixels, and the report says why."""
    expected = card_picture("cpu", {})[0]
    with Installed(pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless", contents):
        pixels, told = card_picture("auto", settings)
    problem = ""
    if not np.array_equal(pixels, expected):
        problem = "not the same pixels"
    elif not any(says in why for why in told["fallback"]):
        problem = "not told"
    judge(fault, stage, "batch", "done with the same pixels, and the reason told",
          f"done on {told['device']}: {'; '.join(told['fallback'])}", problem)


def card_processes():
    """Those that hold the cards of this GIMP."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            ended = (folder / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:  # ended meanwhile
            continue
        if b"--serve-cards" in words and words[-2] == str(os.getppid()).encode() and not ended:
            found.append(int(folder.name))
    return found


def check_card_process():
    """Runs of one GIMP share the process that holds their cards; a hundred leave no threads and no open files in it."""
    folder = pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless"
    before = set(card_processes())
    image = new_image(width=80, height=60)
    layer = add_layer(image)
    with Installed(folder, card_faults.module_bytes(os.environ["GRAINLESS_FAKE_MODULES"], "fake-good")):
        for number in range(100):
            report, = denoise(image, [layer], device="cuda:0", **QUICK)
            assert report["device"] == "cuda:0" and not report["fallback"], report
            if number == 0:
                process, = set(card_processes()) - before
        assert set(card_processes()) - before == {process}, "one process for all of them"
        time.sleep(0.5)  # the last one's thread may be about to end
        for what, most in (("task", 4), ("fd", 8)):
            there = len(list(pathlib.Path(f"/proc/{process}/{what}").iterdir()))
            assert there <= most, f"{there} entries of {what}"
        # Killed between two runs, it is started anew.
        os.kill(process, signal.SIGKILL)
        report, = denoise(image, [layer], device="cuda:0", **QUICK)
        assert report["device"] == "cuda:0" and not report["fallback"], report


def card_picture(device, settings):
    """What a layer becomes there, and the report of it."""
    image = new_image(width=300, height=260)
    layer = add_layer(image)
    with environment(**card_faults.variables(settings)):
        report, = denoise(image, [layer], device=device, **QUICK)
    return native_pixels(layer).copy(), report


def card_cases():
    folders = os.environ["GRAINLESS_FAKE_MODULES"]
    for fault, stage, says, folder, settings in card_faults.CARDS + card_faults.PROCESS_CARDS:
        yield (f"fault: {fault}, {stage}",
               lambda f=fault, at=stage, s=says, m=folder, e=settings:
               check_card(f, at, s, card_faults.module_bytes(folders, m), e))
    for fault, contents in card_faults.broken_modules(folders).items():
        yield f"fault: {fault}", lambda f=fault, c=contents: check_card(f, "start", card_faults.NAME, c, {})


def cases():
    for fault, text, sentence in changes.REFUSED:
        for stage in list(STAGES)[fault in changes.ONCE_READ:]:
            told = changes.END_SENTENCES.get(fault, sentence) if stage == "end" else sentence
            yield (f"fault: {fault} at the {stage}",
                   lambda f=fault, t=text, s=told, at=stage: check_refused(f, t, s, at, QUICK, 1))
        sentence = changes.STACK_SENTENCES.get(fault, sentence)
        yield f"fault: {fault}, stack", lambda f=fault, t=text, s=sentence: check_refused(f, t, s, "middle", STACK, 3)
    for fault, text in changes.ALLOWED:
        yield f"fault: {fault} is allowed", lambda f=fault, t=text: check_allowed(f, t, QUICK)
    for fault, text in SHADOWS.items():
        yield f"fault: {fault}", lambda f=fault, t=text: check_shadow(f, t, QUICK, 1)
        yield f"fault: {fault}, stack", lambda f=fault, t=text: check_shadow(f, t, STACK, 3)
    yield ("fault: a second run that removes nothing is allowed",
           lambda: check_allowed("a second run that removes nothing", SECOND_RUN, QUICK, "end"))
    yield "fault: a selection appears", check_selection_appears
    for stage in STAGES:
        yield f"fault: stack in another order at the {stage}", lambda at=stage: check_stack_order(at)
    yield "fault: the last of several layers changes", lambda: check_second_layer(QUICK)
    yield "fault: the last layer of a stack changes", lambda: check_second_layer(STACK)
    for arguments, count, kind in ((QUICK, 1, ""), (QUICK, 3, ", three layers"), (STACK, 3, ", stack")):
        yield (f"fault: painted after the comparison{kind}",
               lambda a=arguments, n=count: check_painted_after_the_comparison(a, n))
    yield "fault: an effect appears after the comparison", check_looks_different
    yield "fault: nothing uncomputed is merged", lambda: check_nothing_uncomputed(QUICK, 1)
    yield "fault: nothing uncomputed is merged, stack", lambda: check_nothing_uncomputed(STACK, 3)
    yield "fault: GIMP refuses a merge", lambda: check_merge_refused(QUICK, 3)
    yield "fault: GIMP refuses a merge, stack", lambda: check_merge_refused(STACK, 3)
    for stage in STAGES:
        yield f"fault: kill -9 at the {stage}", lambda at=stage: check_killed(at, QUICK, 1)
        yield f"fault: kill -9 at the {stage}, stack", lambda at=stage: check_killed(at, STACK, 3)
    for fault, contents in SETTINGS.items():
        yield f"fault: {fault}", lambda f=fault, c=contents: check_settings(f, c)
    for layers, measured in ((1, MEASURED), (3, STACK | {"auto_sigma": True})):
        kind = ", stack" if layers > 1 else ""
        for stage in MEMORY:
            yield (f"fault: out of memory, {stage}{kind}",
                   lambda at=stage, a=measured, n=layers: check_memory_at(at, a, n))
        yield f"fault: out of memory anywhere{kind}", lambda a=measured, n=layers: check_any_memory(a, n)
    yield from card_cases()
    yield "the cards' process serves a hundred runs", check_card_process
