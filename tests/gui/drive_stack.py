# SPDX-License-Identifier: MIT
"""The dialog for stacks of layers: what it offers, stopping, OK, and one undo step: drive_stack.py WORK"""
import pathlib
import subprocess
import sys
import traceback

import desktop
from desktop import click, find, find_all, is_sensitive, wait_for
from session import Session, Window, outline

TITLE, PROCEDURE = "Grainless Denoise Layer Stack", "plug-in-grainless-denoise-stack"
ABSENT = [("combo box", "Method"), ("combo box", "Quality"), ("combo box", "Preset"), ("spin button", "Group size"),
          ("combo box", "Number of scales")]


def open_dialog(session):
    return Window(session, TITLE, PROCEDURE)


def undo_item():
    items = find_all(desktop.application("gimp"), "menu item",
                     lambda name: name.startswith("Undo") and "History" not in name)
    return items[0] if items else None


def offers_what_it_has(session, before):
    window = open_dialog(session)
    assert window.label("The 3 selected layers are denoised together."), window.labels()
    assert window.number("Adjacent layers") == 2
    assert not is_sensitive(window.widget("spin button", "Noise level"))
    click(window.widget("check box", "Measure the noise automatically"))
    wait_for("the noise level", lambda: is_sensitive(window.widget("spin button", "Noise level")), 10)
    for role, name in ABSENT:
        assert find(window.root, role, name) is None, name
    answer = window.end("Cancel")
    assert answer["status"] == "cancel" and answer["all"] == before["all"] and not answer["dirty"], answer


def stops(session, before):
    """Cancel during the work leads back to the dialog, and no layer has changed."""
    window = open_dialog(session)
    window.set_number("Search window", 63)
    window.set_number("Adjacent layers", 15)
    ok = window.widget("button", "OK")
    click(ok)
    wait_for("the work", lambda: not is_sensitive(ok), 20)
    window.press("Cancel")
    wait_for("the dialog after the work", lambda: is_sensitive(ok))
    answer = window.end("Cancel")
    assert answer["all"] == before["all"] and not answer["dirty"], answer


def works(session, before):
    """OK changes all layers, and one undo step takes all of it back."""
    window = open_dialog(session)
    window.set_number("Adjacent layers", 1)
    window.set_number("Search window", 5)
    answer = window.end("OK")
    assert answer["status"] == "success" and answer["dirty"], answer
    assert all(new != old for new, old in zip(answer["all"], before["all"], strict=True))
    click(wait_for("an undo step", lambda: (lambda item: item if item and is_sensitive(item) else None)(undo_item())))
    wait_for("the original pixels", lambda: session.ask("state")["all"] == before["all"], 20)


def main():
    work = pathlib.Path(sys.argv[1])
    session = Session(work)
    step = "GIMP starts"
    try:
        wait_for("GIMP", lambda: desktop.application("gimp"))
        before = session.ask("open_layer", 700, 500, "u8", 12, 3)
        for step, body in (("the dialog says which layers, and offers what the method has", offers_what_it_has),
                           ("a run can be stopped, and nothing has changed", stops),
                           ("OK changes all layers in one undo step", works)):
            body(session, before)
            print(f"ok - {step}", flush=True)
        print("# end", flush=True)
        return 0
    except Exception:
        subprocess.run(["import", "-window", "root", str(work / "failed.png")], check=False)
        print(f"not ok - {step}")
        print("\n".join("# " + line for line in (traceback.format_exc() + outline(desktop.application("grainless")))
                        .splitlines()), flush=True)
        return 1
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(main())
