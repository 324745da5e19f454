// SPDX-License-Identifier: MIT
// What the host side of Shapiro-Wilk NLM hands to its kernels, by value.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/frame/method.cuh"

namespace grainless::cuda {

// Padded planes: pixel (column, row) is the image's (x0 + column, y0 + row), reflected. The
// target's first pixel is at (margin, margin); plane c starts at c * plane.
//
// Weights of the displacements (first_dx .. first_dx + slots - 1, dy) of pairs (p, p + D): row r is
// p's row r - dy of the target, column i its column i + min(-dx, 0); displacement slot s starts at
// s * weight_plane.
struct SwNlmArgs {
  const int16_t* match;
  const float* values;
  int pitch, columns, rows;
  size_t plane;
  int x0, y0, margin;
  int image_width, image_height;
  SwNlmPlan plan;
  int channels;
  float* weights;
  int weight_pitch;
  size_t weight_plane;
  int dy, first_dx, slots;
  int first_row, last_row;  // of the weights or of the target, in this launch
  int first, count;         // planes that share the gate
  SwNlmGate gate;           // theirs, of the plan's
  // The plan's, as wide as an instruction takes them from constant memory.
  int coefficient[kMaxPatch * kMaxPatch / 2];
  float* sums;        // differences of `count` planes, total, largest: rows of the target's width
  size_t sums_plane;  // floats a component
  DevicePlanes source, target;
};

// Fills match and values from source. prepare.cu.
void sw_nlm_prepare(const SwNlmArgs& args, cudaStream_t stream);

// Weighs the pairs of rows first_row .. last_row - 1. weights.cu.
void sw_nlm_weigh(const SwNlmArgs& args, cudaStream_t stream);
// Whether a patch size is sorted in registers; others take several times longer.
bool sw_nlm_sorts_in_registers(int patch);

}  // namespace grainless::cuda
