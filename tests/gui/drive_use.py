# SPDX-License-Identifier: MIT
"""Presets, help, reset, odd layers, and leaving the dialog while it computes: drive_use.py WORK"""
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "manual"))
import check
import desktop
from desktop import click, find, find_all, is_sensitive, is_showing, wait_for
from session import PICTURE, Session, Window, active_title, items, keys, preset_menu, press_with_mouse, settings_file
from steps import main as run

F1 = "67"  # the key's number: by name Debian forky's xdotool presses Alt+F1
PRESETS = pathlib.Path(os.environ["GIMP3_DIRECTORY"]) / "grainless" / "presets"


def preset_is(window, name):
    wait_for(f"the preset {name}", lambda: window.selected("Preset") == name, 10)


def answer_file_chooser(window, title, button, path):
    wait_for("the keyboard", lambda: active_title() == title, 20)
    if button == "Import":
        keys("ctrl+l")  # shows the entry for a file's path
    entry = wait_for("the path's entry", lambda: next(
        (found for found in find_all(window.frame(title), "text", lambda name: True) if is_showing(found)), None), 20)
    entry.get_editable_text_iface().set_text_contents(str(path))
    click(wait_for(button, lambda: (lambda found: found if found and desktop.is_sensitive(found) else None)(
        find(window.frame(title), "button", button)), 20))
    wait_for(f"the end of '{title}'", lambda: active_title() != title, 20)


def presets_change_settings(session):
    session.ask("open_layer", 90, 70)
    window = Window(session)
    preset_is(window, "Standard")
    window.choose("Preset", "Strong")
    wait_for("the preset's strength", lambda: window.number("Strength") == 140, 10)
    assert window.number("Colour noise") == 120
    window.set_number("Strength", 65)
    preset_is(window, "Your own settings")
    window.set_number("Strength", 140)
    preset_is(window, "Strong")
    window.choose("Preset", "Colour noise only")
    wait_for("lightness alone", lambda: window.number("Lightness noise") == 0, 10)
    assert window.number("Strength") == 100, "the preset before left something behind"
    return window


def presets_are_saved(window):
    window.set_number("Strength", 65)
    preset_menu(window, "Save As…")
    frame = window.frame("Save Preset")
    save = wait_for("Save", lambda: find(frame, "button", "Save"))
    entry = wait_for("the name's entry", lambda: find(frame, "text", "Name of the preset:") or find(frame, "text", ""))
    for bad in ("a/b", "High ISO", "Your own settings"):
        entry.get_editable_text_iface().set_text_contents(bad)
        wait_for(f"a refusal of '{bad}'", lambda: not desktop.is_sensitive(save), 10)
    entry.get_editable_text_iface().set_text_contents("Zoë's attic")
    wait_for("a name that is taken", lambda: desktop.is_sensitive(save), 10)
    click(save)
    preset_is(window, "Zoë's attic")
    text = (PRESETS / "Zoë's attic.preset").read_text(encoding="utf-8")
    assert "strength = 65\n" in text and "luma = 0\n" in text and "device" not in text, text
    window.choose("Preset", "Standard")
    wait_for("the default", lambda: window.number("Strength") == 100, 10)
    window.choose("Preset", "Zoë's attic")
    wait_for("what was saved", lambda: window.number("Strength") == 65 and window.number("Lightness noise") == 0, 10)


def presets_are_renamed(window):
    offered = wait_for("the list", lambda: items(window.widget("combo box", "Preset")))
    assert offered[-1] == "Zoë's attic" and not offered[-2], f"no line before the user's own: {offered}"
    preset_menu(window, "Rename…")
    frame = window.frame("Rename Preset")
    rename = wait_for("Rename", lambda: find(frame, "button", "Rename"))
    entry = wait_for("the name's entry", lambda: find(frame, "text", "Name of the preset:") or find(frame, "text", ""))
    assert desktop.text(entry) == "Zoë's attic"
    for bad in ("Zoë's attic", "Your own settings", ""):
        entry.get_editable_text_iface().set_text_contents(bad)
        wait_for(f"a refusal of '{bad}'", lambda: not desktop.is_sensitive(rename), 10)
    entry.get_editable_text_iface().set_text_contents("Zoë's cellar")
    wait_for("a name that is taken", lambda: desktop.is_sensitive(rename), 10)
    click(rename)
    preset_is(window, "Zoë's cellar")
    assert window.number("Strength") == 65 and not (PRESETS / "Zoë's attic.preset").exists()
    (PRESETS / "Zoë's cellar.preset").rename(PRESETS / "Zoë's attic.preset")


def presets_travel(window, work):
    arriving, exported = work / "From a friend.preset", work / "out.preset"
    exported.unlink(missing_ok=True)
    arriving.write_text("# by a friend\nstrength = 130\n", encoding="utf-8")
    empty = work / "Empty.preset"
    empty.write_text("# nothing\n", encoding="utf-8")
    preset_menu(window, "Import…")
    answer_file_chooser(window, "Import Preset", "Import", empty)
    wait_for("the complaint", lambda: window.label("is not a preset: it sets nothing"))
    window.press("Close")
    wait_for("the complaint's end", lambda: active_title() == "Grainless Denoise", 20)
    preset_menu(window, "Import…")
    answer_file_chooser(window, "Import Preset", "Import", arriving)
    preset_is(window, "From a friend")
    assert window.number("Strength") == 130 and window.number("Lightness noise") == 0
    assert (PRESETS / "From a friend.preset").exists()
    (PRESETS / "Broken.preset").write_text("strength = 5\nstrenght = 5\n", encoding="utf-8")
    preset_menu(window, "Export…")
    answer_file_chooser(window, "Export Preset", "Export", exported)
    wait_for("the file", exported.exists, 10)
    assert exported.read_bytes() == (PRESETS / "From a friend.preset").read_bytes()


def broken_presets_are_refused(window):
    """Known to the box since the last preset was deleted."""
    window.choose("Preset", "Broken")
    wait_for("the complaint", lambda: window.label("Broken.preset, line 2: there is no parameter 'strenght'"))
    window.press("Close")
    wait_for("the complaint's end", lambda: active_title() == "Grainless Denoise", 20)
    preset_is(window, "Your own settings")
    assert window.number("Strength") == 65


def presets_are_deleted(window):
    window.choose("Preset", "Zoë's attic")
    preset_is(window, "Zoë's attic")
    preset_menu(window, "Delete…")
    wait_for("the question", lambda: window.label("Delete the preset “Zoë's attic”?"))
    window.press("Delete")
    wait_for("the file's end", lambda: not (PRESETS / "Zoë's attic.preset").exists(), 10)
    preset_is(window, "Your own settings")
    assert not desktop.is_sensitive(window.widget("menu item", "Delete…"))


def reset_restores_the_defaults(window):
    window.set_number("Noise level", 33)
    window.press("Reset")
    window.press("Reset to Factory Defaults")
    wait_for("the defaults", lambda: window.number("Strength") == 100 and window.number("Noise level") == 10, 10)
    preset_is(window, "Standard")


def names_in_another_encoding(session, work):
    """As archives from other systems leave them: what GTK is shown is UTF-8, or D-Bus ends the filter."""
    PRESETS.mkdir(parents=True, exist_ok=True)
    ours = [os.fsencode(PRESETS) + name for name in (b"/caf\xe9.preset", b"/na\xefve.preset")]
    for path, text in zip(ours, (b"strength = 65\n", b"strenght = 5\n")):
        pathlib.Path(os.fsdecode(path)).write_bytes(text)
    session.ask("open_layer", 90, 70)
    window = Window(session)
    window.choose("Preset", "caf\ufffd")
    wait_for("the preset's strength", lambda: window.number("Strength") == 65, 10)
    exported = work / "cafe.preset"
    exported.unlink(missing_ok=True)
    preset_menu(window, "Export…")
    answer_file_chooser(window, "Export Preset", "Export", exported)
    wait_for("the file", exported.exists, 10)
    preset_menu(window, "Rename…")
    frame = window.frame("Rename Preset")
    entry = wait_for("the name's entry", lambda: find(frame, "text", "Name of the preset:") or find(frame, "text", ""))
    assert desktop.text(entry) == "caf\ufffd", desktop.text(entry)
    entry.get_editable_text_iface().set_text_contents("café")
    click(find(frame, "button", "Rename"))
    preset_is(window, "café")
    window.choose("Preset", "na\ufffdve")
    wait_for("the complaint", lambda: window.label("na\ufffdve.preset', line 1", "na\ufffdve.preset, line 1"))
    window.press("Close")
    window.end("Cancel")
    for path in PRESETS.iterdir():
        path.unlink()


def words_are_no_numbers(window):
    """A slip of the fingers, and nothing at all; a number with anything after it is one."""
    window.set_number("Strength", 80)
    type_numbers(window, "Strength", (("l00", 80), ("", 80), ("nan", 80), ("70 %", 70), ("65.5x", 65.5), ("66,5", 66.5),
                                      ("1,5 %", 1.5)))
    window.set_number("Strength", 100)


def type_numbers(window, name, cases):
    """What is typed, and the value that comes of it."""
    spin = window.widget("spin button", name)
    for text, number in cases:
        assert spin.get_component_iface().grab_focus()
        wait_for("the keyboard", lambda: active_title() == "Grainless Denoise", 20)
        keys("ctrl+a", "BackSpace")
        subprocess.run(["xdotool", "type", "--", text], check=True)
        wait_for(f"'{text}' in its place", lambda: desktop.text(spin) == text, 20)
        keys("Tab")
        wait_for(f"{number} after '{text}'", lambda: abs(window.number(name) - number) < 0.1, 5)
        wait_for(f"a number again after '{text}'",
                 lambda: desktop.text(spin).removesuffix(" %") in (f"{number:.0f}", "Automatic"), 20)


def words_mean_automatic(window):
    """Or nothing: then the number stays."""
    expander = window.widget("toggle button", "Advanced tweaks")
    click(expander)
    wait_for("the controls below it", lambda: is_showing(window.widget("spin button", "Search window")), 20)
    type_numbers(window, "Search window", (("9", 9), ("l1", 9), ("AUTO", 0), ("7 px", 7), ("", 0), ("13,0", 13), ("foo", 13),
                                           ("Automatic", 0)))
    type_numbers(window, "GPU memory limit (MiB)", (("1,000", 1000), ("2.048", 2048), ("1 500 MiB", 1500), ("2 GiB", 2048),
                                                    ("1,5gb", 1536), ("1,048,576", 1048576), ("512", 512), ("", 0)))
    click(expander)


def wheel_scrolls(window):
    """Where all controls have room, the wheel changes the one below it; where they scroll, it scrolls them, and nobody changes
    what the pointer passes, but for a number that has the keyboard."""
    def turn(role, name, button, times):
        x, y, width, height = desktop.extents(window.widget(role, name))
        subprocess.run(["xdotool", "mousemove", str(x + width // 3), str(y + height // 2), "click", "--repeat", str(times),
                        str(button)], check=True)

    def place():
        return desktop.extents(window.widget("spin button", "Strength"))[1]

    def is_changed_by_wheel():
        turn("spin button", "Strength", 5, 1)
        wait_for("less strength", lambda: window.number("Strength") < 100, 10)
        window.set_number("Strength", 100)

    top = place()
    is_changed_by_wheel()
    expander = window.widget("toggle button", "Advanced tweaks")
    click(expander)
    wait_for("more controls than have room", lambda: is_showing(window.widget("combo box", "Hot pixels")), 20)
    assert window.widget("check box", "Measure the noise automatically").get_component_iface().grab_focus()
    for role, name in (("spin button", "Strength"), ("combo box", "Quality")):
        before = window.number("Strength"), window.selected("Quality")
        turn(role, name, 5, 1)
        wait_for("the controls to move", lambda: place() < top, 10)
        turn(role, name, 4, 3)
        wait_for("the controls where they were", lambda: place() == top, 10)
        assert (window.number("Strength"), window.selected("Quality")) == before, name
    assert window.widget("spin button", "Strength").get_component_iface().grab_focus()
    is_changed_by_wheel()
    click(expander)


def names_of_several_lines(session):
    """However many a layer's name has, the list of layers has one."""
    session.ask("open_layer", 90, 70, "u8", 12, 2)
    heights = []
    for name in ("'one'", "'\\n'.join('lines')"):
        session.ask("change", session.ask("image_number"), f"Gimp.get_images()[0].get_layers()[0].set_name({name})")
        window = Window(session)
        heights.append(desktop.extents(window.widget("combo box", "Layer"))[3])
        window.end("Cancel")
    assert heights[1] < 1.3 * heights[0], heights  # the sign for a line's end may be of a taller font


def a_mask_has_no_effect(session):
    """It is said before OK, which could only have ended the dialog with it."""
    session.ask("open_mask", 90, 70)
    window = Window(session)
    wait_for("the preview", lambda: window.label("Preview by"))
    choice = window.widget("check box", "As an adjustable layer effect")
    click(choice)
    wait_for("the sentence", lambda: window.label("only layers can have effects"), 20)
    assert not is_sensitive(window.widget("button", "OK"))
    click(choice)
    wait_for("OK", lambda: is_sensitive(window.widget("button", "OK")), 20)
    assert not window.label("only layers can have effects")
    answer = window.end("OK")
    assert answer["status"] == "success", answer


def prepare_browser(work):
    """HTML opens in a program that writes down what it was given."""
    opened = work / "opened"
    opened.unlink(missing_ok=True)
    browser = work / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" >{str(opened)!r}.part && mv {str(opened)!r}.part {str(opened)!r}\n')
    browser.chmod(0o755)
    applications = pathlib.Path(os.environ["XDG_DATA_HOME"]) / "applications"
    applications.mkdir(parents=True, exist_ok=True)
    (applications / "test-browser.desktop").write_text(
        f"[Desktop Entry]\nType=Application\nName=Test browser\nExec={browser} %u\nMimeType=text/html;\n")
    config = pathlib.Path(os.environ["XDG_CONFIG_HOME"])
    config.mkdir(parents=True, exist_ok=True)
    (config / "mimeapps.list").write_text("[Default Applications]\ntext/html=test-browser.desktop\n")
    return opened


def help_opens_the_manual(window, opened):
    for how in (lambda: window.press("Help"), lambda: keys(F1)):
        opened.unlink(missing_ok=True)
        how()
        wait_for("the browser", opened.exists, 20)
        address = urllib.parse.urlparse(opened.read_text())
        path = pathlib.Path(urllib.parse.unquote(address.path) or opened.read_text())
        assert address.scheme in ("file", "") and not list(check.complaints(path)), address


def help_says_the_version(window):
    lines = window.widget("button", "Help").get_description().splitlines()
    assert re.fullmatch(r"Grainless \d+\.\d+\.\d+", lines[0]), lines
    module = pathlib.Path(os.environ["GRAINLESS_TEST_PLUG_INS"]) / "grainless" / "grainless-cuda.so"
    assert lines[1:] == ([lines[0].replace("Grainless", "grainless-cuda.so")] if module.exists() else []), lines


def odd_layer(session, width, height, precision, *texts):
    """The dialog opens, says one of the texts, and OK applies."""
    before = session.ask("open_layer", width, height, precision)
    window = Window(session)
    wait_for("the preview's answer", lambda: window.label(*texts))
    after = window.end("OK")
    assert after["status"] == "success", after
    assert (after["width"], after["height"]) == (width, height)
    return before["pixels"] != after["pixels"]


def large_layer(session):
    """24 megapixels, left in three ways while they are computed, then applied."""
    before = session.ask("open_layer", 6000, 4000)
    for leave in ("Escape", "alt+F4", None):
        window = Window(session)
        window.choose("Quality", "High")
        strengths = iter(range(60, 200))

        def is_computing():
            window.set_number("Strength", next(strengths))
            return window.label("Reading the layer", "Computing the preview", "Coarse preview")

        wait_for("work", is_computing, 12)
        if leave is None:
            window.press("Cancel")
        else:
            keys(leave)
        after = window.gone(30)
        assert after["status"] == "cancel", after
        assert (after["pixels"], after["dirty"]) == (before["pixels"], before["dirty"]), "a cancelled run left a trace"
    window = Window(session)
    window.choose("Method", "Non-Local Means")
    window.choose("Quality", "Fast")
    wait_for("the preview", lambda: window.label("Preview by"))
    after = window.end("OK", 240)
    assert after["status"] == "success" and after["pixels"] != before["pixels"], after


def steps(session, work):
    opened = prepare_browser(work)
    window = None

    def open_window():
        nonlocal window
        window = presets_change_settings(session)

    yield "a preset changes the settings, and the box follows them", open_window
    yield "presets are saved under safe names", lambda: presets_are_saved(window)
    yield "presets are renamed", lambda: presets_are_renamed(window)
    yield "presets are imported and exported", lambda: presets_travel(window, work)
    yield "presets are deleted", lambda: presets_are_deleted(window)
    yield "broken presets are refused", lambda: broken_presets_are_refused(window)
    yield "reset restores the defaults", lambda: reset_restores_the_defaults(window)
    yield "what is no number changes nothing", lambda: words_are_no_numbers(window)
    yield "words that mean automatic", lambda: words_mean_automatic(window)
    yield "the wheel scrolls the controls", lambda: wheel_scrolls(window)
    yield "Help and F1 open the manual", lambda: help_opens_the_manual(window, opened)
    yield "Help says the version of the filter and of its module", lambda: help_says_the_version(window)
    yield "Escape ends the dialog", lambda: (keys("Escape"), window.gone())
    yield "numbers have units, and sliders show what holds", lambda: numbers_say_what_they_are(session)
    yield "reset gives the initial noise level", lambda: reset_gives_the_initial_level(session)
    yield "the dialog is as it was", lambda: the_dialog_is_as_it_was(session)
    yield "no device is named when nothing is to be done", lambda: nobody_computes_nothing(session)
    yield "presets named in another encoding", lambda: names_in_another_encoding(session, work)
    yield "names of several lines", lambda: names_of_several_lines(session)
    yield "a mask can't have the effect", lambda: a_mask_has_no_effect(session)
    yield "three thousand presets", lambda: thousands_of_presets(session)
    yield "presets beyond the screen", lambda: presets_beyond_the_screen(session)
    yield "1 × 1", lambda: odd_layer(session, 1, 1, "u8", "Preview by", "smaller than")
    yield "1 × 2000", lambda: odd_layer(session, 1, 2000, "u8", "Preview by", "smaller than")
    yield "a layer of linear floats", lambda: expect(odd_layer(session, 120, 90, "float", "Preview by"))
    yield "24 megapixels: left while computing, then applied", lambda: large_layer(session)


def numbers_say_what_they_are(session):
    """A grey layer without a setting for colours; units; the level that was measured instead of the one in the settings."""
    session.ask("open_stack", 120, 90, 1, True)
    window = Window(session)
    wait_for("the preview", lambda: window.label("Preview by"))
    assert not is_sensitive(window.widget("spin button", "Colour noise")), "colour of a grey layer"
    assert is_sensitive(window.widget("spin button", "Lightness noise"))
    shown = desktop.text(window.widget("spin button", "Strength"))
    assert shown == "100 %", shown
    measured = wait_for("the measured noise", lambda: window.label("Measured noise: "))
    level = measured.split("Measured noise: ")[1].split(" ")[0]
    wait_for("the measured level on its slider", lambda: desktop.text(window.widget("spin button", "Noise level")) == level)
    click(window.widget("check box", "Measure the noise automatically"))
    wait_for("that level in the settings", lambda: f"{window.number('Noise level'):.1f}" == level)
    assert "(measured)" not in measured, "said twice"
    window.end("Cancel")


def reset_gives_the_initial_level(session):
    """Not the measured one, which the check box gives when the user clicks on it."""
    name = "Measure the noise automatically"
    session.ask("open_layer", 300, 200, "u8", 15)
    settings_file(PICTURE).write_text("(auto-sigma no)\n(sigma 7)\n", encoding="utf-8")
    window = Window(session)
    wait_for("the preview", lambda: window.label("Preview by"))
    assert window.number("Noise level") == 7, window.number("Noise level")

    def measure():
        click(window.widget("check box", name))
        return wait_for("the measured noise", lambda: window.label("Measured noise: ") and window.label("Preview by"), 20)
    measure()
    window.press("Reset")
    window.press("Reset to Initial Values")
    wait_for("a level of its own", lambda: is_sensitive(window.widget("spin button", "Noise level")), 10)
    time.sleep(0.5)
    assert window.number("Noise level") == 7, f"the initial level became {window.number('Noise level')}"
    measure()
    click(window.widget("check box", name))
    wait_for("the measured level", lambda: 10 < window.number("Noise level") < 20, 10)
    window.end("Cancel")
    settings_file(PICTURE).unlink()


def the_dialog_is_as_it_was(session):
    """View, zoom and size; and why there is no graphics card is told once."""
    session.ask("open_layer", 300, 200)
    window = Window(session)
    wait_for("the preview", lambda: window.label("Preview by"))
    reason = window.label("NVIDIA", "CUDA", "graphics card")
    window.choose("View", "Split")
    window.choose("Zoom", "200 %")
    found = subprocess.run(["xdotool", "search", "--name", "^Grainless Denoise$"], capture_output=True, text=True, check=True)
    def size():
        return desktop.extents(window.frame("Grainless Denoise"))[2:]

    first = size()
    subprocess.run(["xdotool", "windowsize", found.stdout.split()[-1], "1111", "777"], check=True)
    wait_for("another size", lambda: size() != first, 20)
    time.sleep(0.5)  # the layout follows
    smaller = size()
    window.end("Cancel")
    window = Window(session, as_before=True)
    wait_for("the preview", lambda: window.label("Preview by"))
    assert (window.selected("View"), window.selected("Zoom")) == ("Split", "200 %"), "another view than before"
    assert size() == smaller, f"{size()} and not {smaller}, the size before"
    assert not reason or not window.label("NVIDIA", "CUDA", "graphics card"), "told again"
    window.end("Cancel")


def nobody_computes_nothing(session):
    """Without anything to remove no device is named."""
    session.ask("open_layer", 60, 50, "u8", 0)
    window = Window(session)
    window.set_number("Strength", 0)
    wait_for("the note", lambda: window.label("These settings remove nothing", "Little or no noise"))
    assert not window.label("Preview by none"), window.labels()
    window.end("Cancel")


def processor_seconds(session):
    """Those that the dialog has taken until it rests."""
    session.ask("open_layer", 60, 50, "u8", 0)
    session.start("run_filter", "plug-in-grainless-denoise")
    # Not by the widgets' names: to ask three thousand rows takes seconds, too.
    subprocess.run(["timeout", "60", "xdotool", "search", "--sync", "--onlyvisible", "--name", "^Grainless Denoise$"],
                   check=True, stdout=subprocess.DEVNULL)
    found = subprocess.run(["pgrep", "-P", str(session.process.pid), "-x", "grainless"], capture_output=True, text=True,
                           check=True).stdout.split()

    def taken():
        fields = pathlib.Path(f"/proc/{found[-1]}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    last, now = -1, taken()
    while now - last > 0.02:
        time.sleep(0.5)
        last, now = now, taken()
    wait_for("the keyboard", lambda: active_title() == "Grainless Denoise", 20)
    keys("Escape")
    session.finish()
    return now


def thousands_of_presets(session):
    """With a menu of them the window took ten seconds to open, nine times the processor time of none."""
    alone = processor_seconds(session)
    PRESETS.mkdir(parents=True, exist_ok=True)
    ours = [PRESETS / f"number {number}.preset" for number in range(3000)]
    for path in ours:
        path.write_text("strength = 65\n", encoding="utf-8")
    try:
        together = processor_seconds(session)
    finally:
        for path in ours:
            path.unlink()
    print(f"# {alone:.2f} s of a processor without presets, {together:.2f} s with {len(ours)}")
    assert together < 4 * alone, f"{together:.2f} s of a processor, and {alone:.2f} s without presets"


def presets_beyond_the_screen(session):
    """The wheel reaches them: the list went on below the screen and did not scroll."""
    settings_file(PICTURE).write_text('(method "nlm")\n(auto-sigma no)\n', encoding="utf-8")
    PRESETS.mkdir(parents=True, exist_ok=True)
    ours = [PRESETS / f"number {number:03}.preset" for number in range(300)]
    for number, path in enumerate(ours):
        path.write_text(f"strength = {number / 2}\n", encoding="utf-8")
    try:
        session.ask("open_layer", 60, 50)
        window = Window(session)
        wait_for("the preview", lambda: window.label("Preview by"))
        box = window.widget("combo box", "Preset")
        x, y, _, height = desktop.extents(box)
        press_with_mouse(box)
        time.sleep(5)  # rows are measured bit by bit, slowly beside other tests
        subprocess.run(["xdotool", "mousemove", str(x + 60), str(y + height + 100)], check=True)
        # A click of the wheel goes the farther the more of the list is seen: as high as the screen has room below the box.
        subprocess.run(["xdotool", "click", "--repeat", "30", "--delay", "60", "5", "sleep", "1", "click", "1"], check=True)
        wait_for("a preset farther down", lambda: (window.selected("Preset") or "") > "number 040", 10)
        window.end("Cancel")
    finally:
        for path in ours:
            path.unlink()
        settings_file(PICTURE).unlink()


def expect(changed):
    assert changed, "nothing was denoised"


def main():
    work = pathlib.Path(sys.argv[1])
    session = Session(work)
    return run(session, steps(session, work))


if __name__ == "__main__":
    sys.exit(main())
