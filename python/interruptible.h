// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include "engine/boundary/status.h"
#include "engine/progress.h"

namespace grainless::python {

// Runs work in a thread of its own while this one, which holds the GIL and gives it away meanwhile,
// looks for Ctrl+C and calls progress(fraction), unless it is None, every 50 ms. What either of
// them raises cancels the work and is thrown here as nanobind::python_error.
Status interruptible(const nanobind::object& progress,
                     const std::function<Status(const Callbacks& callbacks)>& work);

// Cancels the calls of other threads and waits until none of them, nor of later ones, will ask for
// the GIL again: for Python's end.
void end_calls();

// In a forked process: the calls at work stayed with the parent.
void forget_calls();

}  // namespace grainless::python
