# SPDX-License-Identifier: MIT
"""What goes wrong while the dialog is open or works: the image changes, Cancel at every moment, the filter or GIMP dies,
settings and modules that can't be read: drive_faults.py WORK"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gimp"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reliability"))
import card_faults
import changes
import desktop
import pauses
from card_faults import Installed
from desktop import click, find, find_all, wait_for
from faults import judge
from pauses import MEMORY, STAGES, disk_full, environment, host_memory, meanwhile, no_memory
from session import PICTURE, SETTINGS, STACK, Session, Window, active_title, preset_menu, settings_file
from steps import run_steps

QUICK = {PICTURE: '(method "nlm")\n(auto-sigma no)\n(sigma 12)\n(search 11)\n',
         STACK: "(auto-sigma no)\n(sigma 12)\n(search 5)\n(depth 1)\n"}
# Of tests/gimp/changes.py: what goes another way with a window. The others are tested without.
CHANGES = ["selection removed", "selection moved", "image scaled up", "image cropped", "image turned grey", "layer moved",
           "layer locked", "layer deleted", "one pixel painted"]
STACK_CHANGES = ["selection removed", "layer deleted", "one pixel painted"]


def open_window(session, subject, count=1):
    """A small picture, and the dialog with settings that are computed at once; the picture's numbers and pixels."""
    settings_file(subject).write_text(QUICK[subject], encoding="utf-8")
    picture = session.ask("open_fault_picture", count)
    window = Window(session, *subject)
    wait_for("the preview", lambda: window.label("Preview by"))
    return picture, window


def changed_while_working(session, fault, text, sentence, stage, subject=PICTURE, count=1):
    twin = session.ask("open_fault_picture", count)
    code = changes.code(twin["image"], twin["layer"], twin["other"], text)
    expected = session.ask("change", twin["image"], code)
    picture, window = open_window(session, subject, count)
    with meanwhile(STAGES[stage], changes.code(picture["image"], picture["layer"], picture["other"], text)):
        answer = window.end("OK")
    problem = ""
    if answer["status"] != "execution-error" or sentence not in answer["message"]:
        problem = f"not one sentence with “{sentence}”"
    elif session.ask("image_pixels", picture["image"]) != expected:
        problem = "pixels are not what the user's change made of them"
    judge(fault + (", stack" if count > 1 else ""), stage, "dialog", "one sentence, no pixel denoised",
          f"{answer['status']}: {answer['message']}", problem)


def changed_before_ok(session, fault, text, sentence, subject, count):
    """The dialog is open, its preview done: it ends by itself when nothing is left to work on, and else has no OK."""
    picture, window = open_window(session, subject, count)
    pauses.at_once(changes.code(picture["image"], picture["layer"], picture["other"], text))
    if sentence == changes.GONE:
        answer = window.gone()
        said, ok = answer["message"], answer["status"] == "execution-error"
    else:
        said = wait_for("the sentence", lambda: window.label(sentence), 20)
        ok = not desktop.is_sensitive(window.widget("button", "OK"))
        answer = window.end("Cancel")
        ok = ok and answer["status"] == "cancel"
    judge(fault + (", stack" if count > 1 else ""), "dialog open, before OK", "dialog", "one sentence",
          f"{answer['status']}: {said}", "" if ok and sentence in said else "not so")


def closed(session, when, subject, count):
    """The image's window is closed. Opened from the menu: GIMP keeps an image for the script that called the filter."""
    settings_file(subject).write_text(QUICK[subject], encoding="utf-8")
    session.ask("open_fault_picture", count)
    menu = wait_for("the menu", lambda: next(iter(find_all(
        desktop.application("gimp"), "menu item", lambda name: name.startswith(subject[0] + "…"))), None))
    wait_for("its sensitivity", lambda: desktop.is_sensitive(menu), 20)
    close = f"Gimp.get_images()[0]\nGimp.Display.get_by_id({session.ask('display_number')}).delete()\n"
    if when == "while the dialog opens":
        with meanwhile("dialog 0", close):
            click(menu)
            wait_for("the closing", lambda: (pauses.FOLDER / "done.json").exists(), 60)
    else:
        click(menu)
        window = Window.already_open(session, subject[0])
        wait_for("the preview", lambda: window.label("Preview by"))
    if when == "before OK":
        session.ask("close_display")  # which ends the dialog
    elif when in STAGES:
        with meanwhile(STAGES[when], close):
            click(window.widget("button", "OK"))
            wait_for("the closing", lambda: (pauses.FOLDER / "done.json").exists(), 60)
    wait_for("the filter's end", lambda: filter_process(session) is None)
    said = wait_for("the sentence", lambda: next(iter(find_all(
        desktop.application("gimp"), "label", lambda text: changes.CLOSED in text)), None), 20)
    crashed = find_all(desktop.application("gimp"), "label", lambda text: "crashed" in text)
    judge("image closed" + (", stack" if count > 1 else ""), when, "dialog", "one sentence, no crash",
          said.get_name(), "GIMP says that the plug-in crashed" if crashed else "")
    session.ask("forget_display")


def gone_while_reading(session, subject, count):
    """A large layer is deleted while the preview reads it: the dialog says so, and ends.

    GIMP ends any plug-in that asks for a tile of a deleted layer. The filter looks before every few milliseconds of
    reading; a deletion between that look and the next tile ends the dialog with GIMP's own words.
    """
    settings_file(subject).write_text(QUICK[subject], encoding="utf-8")
    session.ask("open_layer", 5000, 4000, "u8", 12, count)
    number = session.ask("image_number")
    window = Window(session, *subject)
    log = session.work / "gimp.log"
    before = log.stat().st_size
    pauses.at_once(f"image = Gimp.Image.get_by_id({number})\nimage.remove_layer(image.get_layers()[-1])\n")
    answer = window.gone()
    said = ended_by_gimp(log.read_bytes()[before:].decode(errors="replace"))
    ok = (said == ENDED and answer["status"] != "success") or \
        (answer["status"] == "execution-error" and changes.GONE in answer["message"])
    judge("layer deleted" + (", stack" if count > 1 else ""), "preview reads it", "dialog", "one sentence",
          f"{said} / {answer['status']}: {answer['message']}", "" if ok else "not so")


ENDED = "GIMP: tried reading from a drawable which was removed from the image (killing)"


def ended_by_gimp(logged):
    """Whether GIMP has said that it does so; after some messages it goes on in its log."""
    if desktop.application("grainless") is not None:
        return None
    killing = "which was removed from the image (killing)"
    shown = find_all(desktop.application("gimp"), "label", lambda text: killing in text)
    return ENDED if killing in logged or shown else None


def cancelled(session, stage, subject, count):
    """Escape at a moment leads back to the dialog, and no pixel has changed."""
    picture, window = open_window(session, subject, count)
    wait_for("the keyboard", lambda: active_title() == subject[0], 20)
    with meanwhile(STAGES[stage], "os.system('xdotool key Escape'); time.sleep(0.2)"):
        ok = window.widget("button", "OK")
        click(ok)
        wait_for("the work", lambda: (pauses.FOLDER / "done.json").exists(), 60)
    wait_for("the dialog after the work", lambda: desktop.is_sensitive(window.widget("button", "OK")), 20)
    answer = window.end("Cancel")
    problem = ""
    if answer["status"] != "cancel" or answer["dirty"]:
        problem = f"not cancelled, or the image is marked as changed: {answer}"
    elif session.ask("image_pixels", picture["image"]) != picture["all"]:
        problem = "pixels changed"
    judge("cancel in the dialog" + (", stack" if count > 1 else ""), stage, "dialog",
          "back to the dialog, no pixel changes", answer["status"], problem)


def open_large(session):
    """A layer that passes in bands."""
    settings_file(PICTURE).write_text(QUICK[PICTURE], encoding="utf-8")
    picture = session.ask("open_layer", 331, 1203)
    with host_memory(1):
        window = Window(session, *PICTURE)
    wait_for("the preview", lambda: window.label("Preview by"))
    return picture, window


def denoised_in_bands(session):
    """What the cases below rely on."""
    picture, window = open_large(session)
    answer = window.end("OK")
    report = json.loads(pathlib.Path(os.environ["GRAINLESS_REPORT"]).read_text(encoding="utf-8").splitlines()[-1])
    assert answer["status"] == "success" and answer["all"] != picture["all"] and report["bands"] > 1, (answer, report)


def strange_host_memory(session):
    """It is said, and the usual limit holds."""
    settings_file(PICTURE).write_text(QUICK[PICTURE], encoding="utf-8")
    sentence = "2GB is not a value of GRAINLESS_HOST_MEMORY: 512 is taken"
    log = session.work / "gimp.log"
    before = log.stat().st_size
    session.ask("open_layer", 331, 1203)
    with host_memory("2GB"):
        window = Window(session, *PICTURE)
    wait_for("the preview", lambda: window.label("Preview by"))
    answer = window.end("OK")
    wait_for("the sentence", lambda: sentence in log.read_bytes()[before:].decode(errors="replace") or
             find_all(desktop.application("gimp"), "label", lambda text: sentence in text), 20)
    report = json.loads(pathlib.Path(os.environ["GRAINLESS_REPORT"]).read_text(encoding="utf-8").splitlines()[-1])
    ok = answer["status"] == "success" and report["bands"] == 1
    judge("GRAINLESS_HOST_MEMORY=2GB", "start", "dialog", "a sentence, and the usual limit holds", sentence,
          "" if ok else f"not so: {answer['status']}, {report['bands']} bands")


def cancelled_in_bands(session, stage):
    """As for a small layer, when some bands wait in the shadow buffer and others are to come."""
    picture, window = open_large(session)
    wait_for("the keyboard", lambda: active_title() == PICTURE[0], 20)
    with meanwhile(STAGES[stage], "os.system('xdotool key Escape'); time.sleep(0.2)"):
        ok = window.widget("button", "OK")
        click(ok)
        wait_for("the work", lambda: (pauses.FOLDER / "done.json").exists(), 60)
    wait_for("the dialog after the work", lambda: desktop.is_sensitive(window.widget("button", "OK")), 20)
    answer = window.end("Cancel")
    ok = answer["status"] == "cancel" and not answer["dirty"] and answer["all"] == picture["all"]
    judge("cancel in the dialog, layer in bands", stage, "dialog", "back to the dialog, no pixel changes",
          answer["status"], "" if ok else f"not so: {answer}")


def killed(session, stage, subject, count):
    """kill -9: GIMP lives on, no pixel has changed, and the filter opens again."""
    picture, window = open_window(session, subject, count)
    if stage == "dialog open":
        process = filter_process(session)
        os.kill(process, signal.SIGKILL)
        answer = window.gone()
    else:
        with meanwhile(STAGES[stage], "os.kill(filter_pid, 9); time.sleep(0.1)"):
            click(window.widget("button", "OK"))
            answer = window.gone()
    problem = ""
    if answer["status"] == "success":
        problem = "the caller was told that all went well"
    elif session.ask("image_pixels", picture["image"]) != picture["all"] or answer["dirty"]:
        problem = "the image has changed"
    judge("kill -9 of the plug-in" + (", stack" if count > 1 else ""), stage, "dialog",
          "GIMP goes on, no pixel changes", answer["status"], problem)


def children(process):
    """Its processes, and theirs."""
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False).stdout.split()
    return [int(child) for child in found] + [one for child in found for one in children(child)]


def filter_process(session):
    """None: it isn't there."""
    names = {child: pathlib.Path(f"/proc/{child}/comm") for child in children(session.process.pid)}
    return next((child for child, name in names.items() if name.exists() and name.read_text().strip() == "grainless"), None)


def bad_settings(session, fault, contents):
    """The dialog opens with the defaults, and works."""
    path = settings_file(PICTURE)
    path.unlink(missing_ok=True)
    session.ask("open_fault_picture", 1)
    path.write_bytes(contents)
    window = Window(session, *PICTURE)
    wait_for("the preview", lambda: window.label("Preview by"))
    shown = (window.selected("Method"), window.number("Strength"), window.number("Search window"))
    answer = window.end("OK")
    ok = shown == ("BM3D (best quality)", 100, 0) and answer["status"] == "success"
    judge(fault, "begin", "dialog", "the defaults are used", f"{shown}, {answer['status']}", "" if ok else "not so")


ENOUGH = 4096  # bytes of an allocation that is worth refusing: parts of the picture, and buffers of files


def opens_without_memory(session, subject, layers):
    """Each allocation while the dialog opens, reads, measures and computes its preview: the dialog says so, or it ends with
    a sentence, or it does without."""
    seen, problems, count = [], [], 1
    presets = SETTINGS.parent / "grainless" / "presets"
    presets.mkdir(parents=True, exist_ok=True)  # reading a folder takes a buffer
    while True:
        settings_file(subject).write_text(QUICK[subject].replace("auto-sigma no", "auto-sigma yes"), encoding="utf-8")
        picture = session.ask("open_fault_picture", layers)
        with no_memory("start 0", count, ENOUGH) as failed:
            session.start("run_filter", subject[1])
            end = session.work / f"answer{session.number}.json"
            window = Window.__new__(Window)
            window.session, window.title = session, subject[0]
            wait_for("the preview, or what stands for it", lambda: end.exists() or (
                window.root and window.label("Preview by", "ut of memory", "enough memory")))
            said = "" if end.exists() else window.label("ut of memory", "enough memory") or "previewed"
            answer = window.gone() if end.exists() else window.end("Cancel")
            refused = failed()
        if not refused:
            break
        said = said or f"{answer['status']}: {answer['message']}"
        seen.append(said)
        if answer["status"] not in ("cancel", "execution-error") or not ("memory" in said or said == "previewed"):
            problems.append(f"allocation {count}: {said}")
        elif session.ask("image_pixels", picture["image"]) != picture["all"] or answer["dirty"]:
            problems.append(f"allocation {count}: the image has changed")
        count += 1 + count // 4
    judge("out of host memory at an allocation" + (", stack" if layers > 1 else ""),
          "the dialog opens, reads, measures, previews", "dialog", "a sentence, or the preview without it; no pixel changes",
          "; ".join(dict.fromkeys(seen)),
          "; ".join(problems) if problems else "" if seen else "nothing asked for memory")


def works_without_memory(session, stage, subject, layers):
    """After OK."""
    seen, problems = [], []
    _, window = open_window(session, subject, layers)
    expected = window.end("OK")["all"]
    for count in ("1", "2", "3", "1+"):
        picture, window = open_window(session, subject, layers)
        with no_memory(MEMORY[stage], count, ENOUGH) as failed:
            answer = window.end("OK")
            refused = failed()
        if refused:
            seen.append("done" if answer["status"] == "success" else f"{answer['status']}: {answer['message']}")
        done = answer["status"] == "success" and answer["all"] == expected
        told = answer["status"] == "execution-error" and "enough memory" in answer["message"] and not answer["dirty"] and \
            session.ask("image_pixels", picture["image"]) == picture["all"]
        if not done and not told:
            problems.append(f"allocation {count}: {answer}")
    judge("out of host memory" + (", stack" if layers > 1 else ""), f"OK, {stage}", "dialog",
          "one sentence and no pixel changes, or the same pixels without it", "; ".join(dict.fromkeys(seen)),
          "; ".join(problems) if problems else "" if seen else "nothing asked for memory")


PLUG_IN = pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless"
FAKES = os.environ["GRAINLESS_FAKE_MODULES"]
# Of card_faults.py: one of each kind. The others are tested without a window.
SHOWN_CARDS = {"module older", "no driver", "driver without device", "cuFFT or another part missing",
               "out of device memory, always", "device lost", "driver ends its process"}


def with_module(session, contents, settings, device):
    """The dialog with a module and its settings; what it says of the device, and what the filter answers."""
    settings_file(PICTURE).write_text(QUICK[PICTURE] + f'(device "{device}")\n', encoding="utf-8")
    with Installed(PLUG_IN, contents), environment(**card_faults.variables(settings)):
        session.ask("open_fault_picture", 1)
        window = Window(session, *PICTURE)
        wait_for("the preview", lambda: window.label("Preview by"))
        return window.labels(), window.end("OK")


def bad_card(session, fault, stage, says, contents, settings):
    """Another device does the work, and the dialog says why."""
    _, expected = with_module(session, None, {}, "cpu")
    labels, answer = with_module(session, contents, settings, "cuda")
    said = next((label for label in labels if says.lower() in label.lower()), "")
    problem = "" if said else f"not shown: {labels}"
    if answer["status"] != "success" or answer["all"] != expected["all"]:
        problem = "not the same pixels"
    judge(fault, stage, "dialog", "done with the same pixels, and the reason shown", f"{said} {answer['status']}", problem)


def card_steps(session):
    for fault, stage, says, folder, settings in card_faults.CARDS + card_faults.PROCESS_CARDS:
        if fault in SHOWN_CARDS and stage != "the third tile":
            yield fault, lambda f=fault, at=stage, s=says, m=folder, e=settings: bad_card(
                session, f, at, s, card_faults.module_bytes(FAKES, m), e)
    contents = card_faults.broken_modules(FAKES)["module cut in half"]
    yield "module cut in half", lambda: bad_card(session, "module cut in half", "start", card_faults.NAME, contents, {})


def full_disk_and_settings(session):
    """The settings of this run can't be kept for the next one: the picture gets its pixels all the same."""
    _, window = open_window(session, PICTURE)
    expected = window.end("OK")
    _, window = open_window(session, PICTURE)
    before = settings_file(PICTURE).read_bytes()
    with disk_full():
        answer = window.end("OK")
    problem = ""
    if answer["status"] != "success" or answer["all"] != expected["all"]:
        problem = f"not the usual result: {answer}"
    elif settings_file(PICTURE).read_bytes() != before:
        problem = "the settings file has changed"
    judge("disk full, settings of the last run", "end", "dialog", "denoised, the older settings as they were",
          answer["status"], problem)


def full_disk_and_preset(session):
    """A sentence says that a preset could not be saved, and no piece of it is left."""
    _, window = open_window(session, PICTURE)
    folder = SETTINGS.parent / "grainless" / "presets"
    files = set(folder.glob("*")) | set(folder.glob(".*"))
    with disk_full():
        preset_menu(window, "Save As…")
        frame = window.frame("Save Preset")
        entry = wait_for("the name's entry", lambda: find(frame, "text", "Name of the preset:") or find(frame, "text", ""))
        entry.get_editable_text_iface().set_text_contents("Mine")
        save = wait_for("Save", lambda: find(frame, "button", "Save"))
        wait_for("a name that can be", lambda: desktop.is_sensitive(save), 10)
        click(save)
        said = wait_for("the reason", lambda: window.label("can't be written"))
    problem = "" if "No space left" in said else "without the reason"
    if set(folder.glob("*")) | set(folder.glob(".*")) != files:
        problem = "a file is left"
    judge("disk full, a preset", "dialog open", "dialog", "a sentence with the reason, no file is left",
          said.replace(str(folder) + "/", ""), problem)
    closing = wait_for("the message's button", lambda: find_all(window.root, "button", lambda name: name == "Close"))
    click(next(button for button in closing if desktop.is_showing(button)))
    window.end("Cancel")


def gimp_ends(session, how, code):
    """GIMP ends while the filter works: no process of either stays."""
    _, window = open_window(session, PICTURE)
    process = filter_process(session)
    pauses.prepare(STAGES["middle"], code + "time.sleep(0.5)\n")
    click(window.widget("button", "OK"))
    session.process.wait(60)
    assert not (pauses.FOLDER / "at").exists(), "the filter never came to its middle"
    pauses.clear()  # whoever ended GIMP may have ended with it
    end = time.monotonic() + 20
    while pathlib.Path(f"/proc/{process}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    left = pathlib.Path(f"/proc/{process}").exists()
    judge(f"GIMP {how}", "middle", "dialog", "the plug-in ends, too", "still there" if left else "ended",
          "a process is left" if left else "")


def steps(session):
    refused = {fault: (text, sentence) for fault, text, sentence in changes.REFUSED}
    for fault in CHANGES:
        for stage in list(STAGES)[fault in changes.ONCE_READ:]:
            yield (f"{fault} at the {stage}",
                   lambda f=fault, at=stage: changed_while_working(session, f, *refused[f], at))
    for fault in STACK_CHANGES:
        yield (f"{fault}, stack",
               lambda f=fault: changed_while_working(session, f, *refused[f], "middle", STACK, 3))
    for subject, count in ((PICTURE, 1), (STACK, 3)):
        kind = ", stack" if count > 1 else ""
        for when in ("while the dialog opens", "before OK", *STAGES):
            yield f"image closed {when}{kind}", lambda w=when, s=subject, c=count: closed(session, w, s, c)
        for fault in ("layer deleted", "layer locked"):
            yield (f"{fault} before OK{kind}",
                   lambda f=fault, s=subject, c=count: changed_before_ok(session, f, *refused[f], s, c))
        yield f"layer deleted while it is read{kind}", lambda s=subject, c=count: gone_while_reading(session, s, c)
        for stage in STAGES:
            yield f"cancel at the {stage}{kind}", lambda at=stage, s=subject, c=count: cancelled(session, at, s, c)
        for stage in ("dialog open", *STAGES):
            yield f"kill -9: {stage}{kind}", lambda at=stage, s=subject, c=count: killed(session, at, s, c)
    yield "settings of random bytes", lambda: bad_settings(session, "settings file of random bytes", bytes(range(256)) * 4)
    yield "settings cut off", lambda: bad_settings(session, "settings file cut off", b'# settings\n\n(method "nl')
    yield "OK, layer in bands", lambda: denoised_in_bands(session)
    yield "memory limit that is no number", lambda: strange_host_memory(session)
    for stage in STAGES:
        yield f"cancel at the {stage}, layer in bands", lambda at=stage: cancelled_in_bands(session, at)
    for subject, layers in ((PICTURE, 1), (STACK, 3)):
        kind = ", stack" if layers > 1 else ""
        yield f"out of memory, dialog{kind}", lambda s=subject, n=layers: opens_without_memory(session, s, n)
        for stage in MEMORY:
            if stage != "measuring its noise":  # which the preview has done
                yield (f"out of memory after OK, {stage}{kind}",
                       lambda at=stage, s=subject, n=layers: works_without_memory(session, at, s, n))
    yield from card_steps(session)
    yield "disk full, settings", lambda: full_disk_and_settings(session)
    yield "disk full, preset", lambda: full_disk_and_preset(session)


def leave_dialog(session):
    """So that the next case can begin."""
    pauses.clear()
    if desktop.application("grainless") is not None:
        os.kill(filter_process(session), signal.SIGKILL)
        session.finish()


def main():
    work = pathlib.Path(sys.argv[1])
    failed = 0
    for number, (how, code) in enumerate(pauses.ENDS.items()):
        session = Session(work)
        found = list(steps(session)) if number == 0 else []
        found.append((f"GIMP {how} in mid-work", lambda s=session, h=how, c=code: gimp_ends(s, h, c)))
        try:
            failed += run_steps(session, found, lambda s=session: leave_dialog(s))
        finally:
            session.close()
    print("# end", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
