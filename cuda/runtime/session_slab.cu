// SPDX-License-Identifier: MIT
// Slabs of volumes.

#include "arena.h"
#include "cuda/volume/volume.cuh"
#include "session.h"
#include "transfer.h"

namespace grainless::cuda {
namespace {

size_t pixel_stack_bytes(const Plan& plan, int width, int height, int layers) {
  return aligned(row_bytes(plan, width) * height * layers);
}

size_t plane_stack_bytes(const Plan& plan, int width, int height, int layers) {
  return aligned(sizeof(float) * plan.channels * plane_stride(width) * height * layers);
}

// A slab's layers, pixels and planes, in the slot's memory.
struct SlabBuffers {
  DevicePixels pixels;  // of the first layer
  size_t layer_bytes;
  DeviceStack planes;
  void* scratch;
  size_t scratch_bytes;

  SlabBuffers(Cutter& memory, const Plan& plan, const AbiSlab& slab)
      : layer_bytes(row_bytes(plan, slab.width) * slab.height),
        planes{nullptr,       plan.channels, slab.width, slab.height, plane_stride(slab.width),
               slab.in_layers} {
    const Rect whole{0, 0, slab.width, slab.height};
    pixels = {plan.format,
              whole,
              whole,
              memory.take(layer_bytes * slab.in_layers),
              row_bytes(plan, slab.width),
              plan.valid,
              {},  // a volume has none
              plan.bend,
              hidden_of(plan)};
    planes.data = static_cast<float*>(
        memory.take(plane_stack_bytes(plan, slab.width, slab.height, slab.in_layers)));
    scratch_bytes = memory.left();
    scratch = memory.take(scratch_bytes);
  }

  // Layers from `first` on as if they were one, for transfers.
  DevicePixels tall(int first, int layers) const {
    DevicePixels all = pixels;
    all.data = static_cast<uint8_t*>(pixels.data) + first * layer_bytes;
    all.rect.height *= layers;
    all.image = all.rect;
    return all;
  }
  DevicePlanes planes_of(int layer) const {
    return {planes.layer(layer), planes.channels, pixels.rect, planes.stride};
  }
};

void run_kernels(RunSlot& slot, const Plan& plan, const VolumeJob& job,
                 const SlabBuffers& buffers) {
  const int first = job.first - job.in_first;
  LayerSteps steps{job.source.layers, buffers.layer_bytes, job.source.layer_floats(), 0};
  planes_from_pixels(buffers.pixels, buffers.planes_of(0), slot.stream.get(), steps);
  const VolumeLuma luma = run_volume(job);
  DevicePixels pixels = buffers.pixels;
  pixels.data = static_cast<uint8_t*>(pixels.data) + first * buffers.layer_bytes;
  steps = {job.layers, buffers.layer_bytes, luma.layer_floats, job.source.layer_floats()};
  spoil_on_demand(buffers.planes_of(first), slot.stream.get());
  pixels_from_planes(pixels, luma.first, buffers.planes_of(first),
                     {pixels, plan.detail, slot.clear_not_finite()}, slot.stream.get(), steps);
}

}  // namespace

uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int width, int height,
                    int in_layers, int out_layers) {
  return pixel_stack_bytes(plan, width, height, in_layers) +
         plane_stack_bytes(plan, width, height, in_layers) +
         volume_scratch_bytes(volume, plan.channels, width, height, out_layers);
}

void Session::compute_slab(RunSlot& slot, const Plan& plan, const VolumePlan& volume,
                           const AbiSlab& slab, const AbiCallbacks* callbacks) {
  const cudaStream_t stream = slot.stream.get();
  Cutter memory(slot.arena.get(), slot.arena_bytes);
  const SlabBuffers buffers(memory, plan, slab);
  const int first = slab.out_first - slab.in_first;
  slot.pacer.restart();
  check(cudaEventRecord(slot.started.get(), stream), "timing");
  upload(slot, {slab.source, slab.height}, buffers.tall(0, slab.in_layers), callbacks);
  check(cudaEventRecord(slot.uploaded.get(), stream), "timing");
  in_turn(slot, callbacks, [&] {
    run_kernels(
        slot, plan,
        {&volume, slab.layers, slab.in_first, slab.out_first, slab.out_layers, buffers.planes,
         buffers.scratch, buffers.scratch_bytes, stream, callbacks, &slot.pacer},
        buffers);
  });
  download(slot, buffers.tall(first, slab.out_layers), {slab.target, slab.height}, callbacks);
}

}  // namespace grainless::cuda
