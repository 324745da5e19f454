# SPDX-License-Identifier: MIT
"""Entry point inside GIMP's Python: all cases, in one run, since every start of GIMP costs seconds."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["GRAINLESS_TEST_DIR"], os.pardir, "reliability"))
sys.path.insert(0, os.environ["GRAINLESS_TEST_DIR"])
import case_bands
import case_draws
import case_effect
import case_faults
import case_files
import case_formats
import case_impulses
import case_procedure
import case_stack
import case_targets
import harness

tap = harness.Tap(harness.WORK / "cases.tap")
modules = (case_formats, case_files, case_targets, case_procedure, case_draws, case_effect, case_impulses, case_stack,
           case_bands, case_faults)
chosen = os.environ.get("GRAINLESS_CASE_FILES", "").split()
for module in modules:
    if chosen and module.__name__.removeprefix("case_") not in chosen:
        continue
    for case_name, case_body in module.cases():
        if os.environ.get("GRAINLESS_CASES", "") in case_name:
            tap.run(case_name, case_body)
tap.end()
