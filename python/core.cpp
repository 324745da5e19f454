// SPDX-License-Identifier: MIT
// The engine for Python. grainless/__init__.py checks arrays and brings them to four axes, layers ×
// rows × columns × channels; here they are handed to the engine, which computes without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/denoise.h"
#include "engine/methods.h"
#include "engine/module_version.h"
#include "engine/params/preset_folder.h"
#include "interruptible.h"

namespace nb = nanobind;

namespace grainless::python {
namespace {

using Source = nb::ndarray<nb::ro, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Axes = std::tuple<int32_t, int32_t, int32_t>;  // layers, rows, columns

// Failures of devices; what is wrong with arguments is Python's own ValueError.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Names of files may be anything, what Python raises is text.
[[noreturn]] void raise_value_error(const std::string& message) {
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  if (text.is_valid()) PyErr_SetObject(PyExc_ValueError, text.ptr());
  throw nb::python_error();
}

void raise_if_failed(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kOk:
      return;
    case ErrorCode::kBadInput:
    case ErrorCode::kBadParameter:
      raise_value_error(status.message());
    case ErrorCode::kOutOfMemory:
      throw std::bad_alloc();
    case ErrorCode::kCancelled:
      throw DeviceError("cancelled");
    case ErrorCode::kDeviceUnavailable:
    case ErrorCode::kDeviceFailed:
    case ErrorCode::kInternal:
    case ErrorCode::kUnsupported:
      break;
  }
  throw DeviceError(status.message());
}

// `given` on top of the preset's settings.
Params params_of(const Settings& preset, const Settings& given) {
  Params params;
  raise_if_failed(apply_settings(preset, params));
  raise_if_failed(apply_settings(given, params));
  raise_if_failed(validate(params));
  return params;
}

template <typename Array>
PixelFormat format_of(const Array& array) {
  const nb::dlpack::dtype type = array.dtype();
  const bool is_float = type.code == uint8_t(nb::dlpack::dtype_code::Float);
  const Component component = is_float ? (type.bits == 16 ? Component::kHalf : Component::kFloat)
                                       : (type.bits == 16 ? Component::kU16 : Component::kU8);
  return {component, int32_t(array.shape(3))};
}

// Where an array lies in the whole picture or volume.
struct Place {
  int32_t count, height, width;
  int32_t first, y, x;

  Place(const Axes& shape, const Axes& origin)
      : count(std::get<0>(shape)),
        height(std::get<1>(shape)),
        width(std::get<2>(shape)),
        first(std::get<0>(origin)),
        y(std::get<1>(origin)),
        x(std::get<2>(origin)) {}

  template <typename Array>
  VolumeBox box_of(const Array& array) const {
    return {
        {x, y, int32_t(array.shape(2)), int32_t(array.shape(1))}, first, int32_t(array.shape(0))};
  }
  LayersShape shape(PixelFormat format) const { return {format, width, height, count}; }
};

// The layers of an array that lies at `held`, or those of `box` within it.
template <typename Image, typename Array>
std::vector<Image> layers_of(const Array& array, const Place& place, const VolumeBox& box) {
  const VolumeBox held = place.box_of(array);
  const PixelFormat format = format_of(array);
  const ptrdiff_t row = ptrdiff_t{held.rect.width} * format.pixel_bytes();
  std::vector<Image> layers;
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    const ptrdiff_t rows =
        ptrdiff_t{z - held.first} * held.rect.height + (box.rect.y - held.rect.y);
    auto* data = static_cast<uint8_t*>(const_cast<void*>(static_cast<const void*>(array.data()))) +
                 rows * row + ptrdiff_t{box.rect.x - held.rect.x} * format.pixel_bytes();
    layers.push_back({format, place.width, place.height, box.rect, data, row});
  }
  return layers;
}

// How far beyond a pixel the engine looks.
struct Reach {
  int32_t layers = 0, sides = 0;
};

Reach reach_of(Engine& engine, const Params& params, const NoiseModel& noise, PixelFormat format) {
  constexpr int32_t kFar = 1 << 20;
  // Volumes are cut at multiples of a few pixels: how far they look depends on the place.
  constexpr int32_t kPlaces = 64;
  const LayersShape shape{format, 2 * kFar, 2 * kFar, 2 * kFar};
  Reach reach;
  for (int32_t i = 0; i < (params.depth > 0 ? kPlaces : 1); ++i) {
    const VolumeBox one{{kFar + i, kFar + i, 1, 1}, kFar, 1};
    VolumeBox box = one;
    raise_if_failed(params.depth > 0
                        ? engine.volume_source(params, params.depth, noise, shape, one, box)
                        : engine.source_rect(params, noise, shape, one.rect, box.rect));
    reach.layers = std::max(reach.layers, one.first - box.first);
    reach.sides =
        std::max({reach.sides, one.rect.x - box.rect.x, one.rect.y - box.rect.y,
                  box.rect.right() - one.rect.right(), box.rect.bottom() - one.rect.bottom()});
  }
  return reach;
}

// begin and end without what is nearer than `reach` to an end that is none of the whole.
std::pair<int32_t, int32_t> inner(int32_t begin, int32_t end, int32_t whole, int32_t reach) {
  return {begin > 0 ? begin + reach : begin, end < whole ? end - reach : end};
}

// The pixels of `held` whose surroundings it holds.
VolumeBox computable(const VolumeBox& held, const Place& place, const Reach& reach) {
  const auto [left, right] = inner(held.rect.x, held.rect.right(), place.width, reach.sides);
  const auto [top, bottom] = inner(held.rect.y, held.rect.bottom(), place.height, reach.sides);
  const auto [first, end] = inner(held.first, held.first + held.layers, place.count, reach.layers);
  if (right <= left || bottom <= top || end <= first) {
    throw nb::value_error(
        "the block is too small: no pixel of it is farther than halo() from its edges");
  }
  return {{left, top, right - left, bottom - top}, first, end - first};
}

nb::list sigma_of(const NoiseModel& noise) {
  nb::list sigma;
  for (int32_t c = 0; c < noise.channels; ++c) sigma.append(double(noise.sigma[0][c]));
  return sigma;
}

nb::dict report_dict(const Report& report) {
  nb::dict seconds, dict;
  seconds["estimate"] = report.estimate;
  seconds["upload"] = report.upload;
  seconds["kernels"] = report.kernels;
  seconds["download"] = report.download;
  seconds["total"] = report.total;
  dict["device"] = report.device;
  dict["device_description"] = report.device_description;
  dict["fallback"] = report.fallbacks;
  dict["sigma"] = sigma_of(report.noise);
  dict["confidence"] = confidence_id(report.noise.confidence);
  dict["corners"] = in_corners(report.noise);
  dict["changed"] = report.changed;
  dict["note"] = report.note;
  dict["replaced_pixels"] = report.replaced_pixels;
  dict["seconds"] = seconds;
  dict["tiles"] = report.tiles;
  dict["peak_memory"] = report.peak_memory;
  return dict;
}

NoiseModel measure(Engine& engine, const Params& params, const Source& source,
                   const nb::object& progress) {
  const Place whole({int32_t(source.shape(0)), int32_t(source.shape(1)), int32_t(source.shape(2))},
                    {0, 0, 0});
  const auto layers = layers_of<ConstImage>(source, whole, whole.box_of(source));
  NoiseModel noise;
  raise_if_failed(interruptible(progress, [&](const Callbacks& callbacks) {
    return params.depth > 0 ? engine.volume_noise(params, layers, callbacks, noise, nullptr)
                            : engine.noise_for(params, layers.front(), callbacks, noise, nullptr);
  }));
  return noise;
}

void check_model(const NoiseModel& noise, PixelFormat format) {
  if (noise.channels != format.colours()) {
    throw nb::value_error("the noise model is of a picture with another number of colours");
  }
}

// Python's side of the arrays of one call.
struct Request {
  const Source& source;
  const Target& target;
  Place place;
  nb::object progress;
};

nb::dict denoise(Engine& engine, const Params& params, const NoiseModel& noise,
                 const Request& request) {
  const PixelFormat format = format_of(request.source);
  check_model(noise, format);
  const Place& place = request.place;
  const VolumeBox held = place.box_of(request.source);
  const VolumeBox box = computable(held, place, reach_of(engine, params, noise, format));
  const auto sources = layers_of<ConstImage>(request.source, place, held);
  const auto targets = layers_of<MutableImage>(request.target, place, box);
  Report report;
  raise_if_failed(interruptible(request.progress, [&](const Callbacks& callbacks) {
    if (params.depth == 0) {
      return engine.denoise(params, noise, sources.front(), targets.front(), callbacks, report);
    }
    const VolumePixels pixels{{place.count, held.first, sources},
                              {place.count, box.first, targets}};
    return engine.denoise_volume_part(params, params.depth, noise, pixels, callbacks, report);
  }));
  return report_dict(report);
}

nb::list devices(Engine& engine) {
  nb::list list;
  for (const DeviceInfo& device : engine.devices()) {
    nb::dict dict;
    dict["name"] = device.name;
    dict["description"] = device.description;
    dict["usable"] = device.usable;
    dict["reason"] = device.reason;
    list.append(dict);
  }
  return list;
}

const char* type_name(ParamType type) {
  switch (type) {
    case ParamType::kChoice:
      return "choice";
    case ParamType::kBool:
      return "bool";
    case ParamType::kInt:
      return "int";
    case ParamType::kDouble:
      return "float";
    case ParamType::kString:
      break;
  }
  return "str";
}

nb::list parameters() {
  nb::list list;
  for (const ParamSpec& spec : param_specs()) {
    nb::list choices;
    for (const Choice& choice : spec.choices) choices.append(choice.id);
    nb::dict dict;
    dict["key"] = spec.key;
    dict["type"] = type_name(spec.type);
    dict["minimum"] = spec.minimum;
    dict["maximum"] = spec.maximum;
    dict["choices"] = choices;
    dict["default"] = param_text(Params{}, spec);
    dict["help"] = spec.tooltip;
    list.append(dict);
  }
  return list;
}

Settings built_in(const std::string& name) {
  const BuiltInPreset* preset = find_built_in_preset(name);
  return preset == nullptr ? Settings{} : preset->settings();
}

std::vector<std::string> preset_ids() {
  std::vector<std::string> ids;
  for (const BuiltInPreset& preset : built_in_presets()) ids.emplace_back(preset.id);
  return ids;
}

Settings settings_of_file(const nb::bytes& path) {
  Settings settings;
  raise_if_failed(read_preset({path.c_str(), path.size()}, settings));
  return settings;
}

std::string module_text(const std::string& folder) {
  std::string version;
  const Status status = guard([&] { version = module_version(folder); });
  return status.ok() ? version : status.message();
}

// A model crosses processes as its bytes and those of lone layers, which another version of the
// engine would read otherwise, and what tells whether they are those that were written (Fowler,
// Noll and Vo's hash, 1a).
using ModelState = std::tuple<std::string, nb::bytes, uint64_t>;
static_assert(std::is_trivially_copyable_v<PictureNoise> &&
              std::is_trivially_copyable_v<StackNoise>);

uint64_t hash_of(const nb::bytes& bytes) {
  uint64_t hash = 14695981039346656037ull;
  const auto* at = static_cast<const unsigned char*>(bytes.data());
  for (size_t i = 0; i < bytes.size(); ++i) hash = (hash ^ at[i]) * 1099511628211ull;
  return hash;
}

template <typename Numbers>
void append(const Numbers& numbers, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers);
}

// Of layers: a byte whether one is lone, and its numbers if so.
ModelState model_state(const NoiseModel& noise) {
  std::string all;
  append<PictureNoise>(noise, all);
  append(noise.stack, all);
  if (noise.lone) {
    for (const auto& layer : noise.lone->noise) {
      all.push_back(layer ? 1 : 0);
      if (layer) append(*layer, all);
    }
  }
  const nb::bytes bytes(all.data(), all.size());
  return {GRAINLESS_VERSION, bytes, hash_of(bytes)};
}

// The next numbers of the bytes, which are taken off.
template <typename Numbers>
Numbers next_numbers(std::string_view& bytes) {
  Numbers numbers;
  if (bytes.size() < sizeof numbers) throw nb::value_error("this noise model is damaged");
  std::memcpy(&numbers, bytes.data(), sizeof numbers);
  bytes.remove_prefix(sizeof numbers);
  return numbers;
}

void set_model_state(NoiseModel& noise, const ModelState& state) {
  const auto& [version, bytes, hash] = state;
  if (version != GRAINLESS_VERSION || hash != hash_of(bytes)) {
    throw nb::value_error("this noise model is damaged or comes from another version of grainless");
  }
  std::string_view left(bytes.c_str(), bytes.size());
  NoiseModel read{next_numbers<PictureNoise>(left)};
  read.stack = next_numbers<StackNoise>(left);
  LoneLayers lone;
  while (!left.empty()) {
    const bool is_lone = left.front() != 0;
    left.remove_prefix(1);
    lone.noise.push_back(is_lone ? std::optional(next_numbers<PictureNoise>(left)) : std::nullopt);
  }
  if (!lone.noise.empty()) read.lone = std::make_shared<const LoneLayers>(std::move(lone));
  new (&noise) NoiseModel(std::move(read));
}

void bind_model(nb::module_& module) {
  nb::class_<NoiseModel>(module, "NoiseModel")
      .def_prop_ro("sigma", sigma_of)
      .def_prop_ro("confidence",
                   [](const NoiseModel& noise) { return confidence_id(noise.confidence); })
      .def_prop_ro("corners", [](const NoiseModel& noise) { return in_corners(noise); })
      .def("__getstate__", model_state)
      .def("__setstate__", set_model_state);
}

void bind_engine(nb::module_& module) {
  nb::class_<Params>(module, "Params")
      .def("__init__", [](Params* params, const Settings& preset,
                          const Settings& given) { new (params) Params(params_of(preset, given)); })
      .def_ro("depth", &Params::depth)
      .def("applies",
           [](const Params& params, const std::string& key) { return param_applies(params, key); });
  nb::class_<Engine>(module, "Engine")
      .def("__init__",
           [](Engine* engine, int32_t threads, const std::string& module_dir) {
             new (engine) Engine(EngineOptions{module_dir, threads});
           })
      .def("devices", devices)
      .def("measure", measure, nb::arg("params"), nb::arg("source"), nb::arg("progress").none())
      .def("reach",
           [](Engine& engine, const Params& params, const NoiseModel& noise) {
             const Reach reach =
                 reach_of(engine, params, noise, {Component::kFloat, noise.channels});
             return std::pair(reach.layers, reach.sides);
           })
      .def(
          "denoise",
          [](Engine& engine, const Params& params, const NoiseModel& noise, const Source& source,
             const Target& target, const std::pair<Axes, Axes>& place, nb::object progress) {
            return denoise(engine, params, noise,
                           {source, target, {place.first, place.second}, std::move(progress)});
          },
          nb::arg("params"), nb::arg("noise"), nb::arg("source"), nb::arg("target"),
          nb::arg("place"), nb::arg("progress").none());
}

}  // namespace
}  // namespace grainless::python

NB_MODULE(_core, module) {
  using namespace grainless::python;
  nb::exception<DeviceError>(module, "DeviceError", PyExc_RuntimeError);
  module.attr("version") = GRAINLESS_VERSION;
  module.def("parameters", parameters);
  module.def("preset_ids", preset_ids);
  module.def("built_in", built_in);
  module.def("read_preset", settings_of_file);
  module.def("module_version", module_text);
  module.def("end_calls", end_calls);
  module.def("forget_calls", forget_calls);
  // For engines whose threads a fork has left behind: their ends would wait for them.
  module.def("keep_forever", [](const nb::object& object) { object.inc_ref(); });
  bind_model(module);
  bind_engine(module);
}
