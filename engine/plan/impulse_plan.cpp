// SPDX-License-Identifier: MIT
#include "impulse_plan.h"

#include "engine/noise/picture_range.h"

namespace grainless {
namespace {

// In 8-bit steps, and deviations of what lies round a pixel. Found on Kodak24 with noise of 10 and
// salt and pepper, by the PSNR of BM3D's result: less of either takes texture for impulses, more
// leaves impulses of low contrast, which cost less.
ImpulseRule rule_of(ImpulseWay way) {
  ImpulseRule rule{};
  rule.agree = 15.0f;
  switch (way) {
    case ImpulseWay::kWeak:
      rule.one = {0, 25.0f, 3.0f};
      rule.all = {0, 30.0f, 4.0f};
      break;
    case ImpulseWay::kNormal:
      rule.one = {1, 10.0f, 1.5f};
      rule.all = {0, 15.0f, 3.0f};
      rule.blob = {0, 12.0f, 2.5f};
      break;
    case ImpulseWay::kStrong:
      rule.one = {1, 10.0f, 1.2f};
      rule.all = {1, 20.0f, 1.0f};
      rule.blob = {0, 10.0f, 2.2f};
      break;
    case ImpulseWay::kOff:
    case ImpulseWay::kAuto:
      return rule;
  }
  rule.enabled = rule.luma = rule.chroma = 1;
  return rule;
}

ImpulseWay measured_way(Impulses impulses) {
  switch (impulses) {
    case Impulses::kFew:
      return ImpulseWay::kNormal;
    case Impulses::kMany:
      return ImpulseWay::kStrong;
    case Impulses::kNone:
      break;
  }
  return ImpulseWay::kOff;
}

}  // namespace

ImpulseRule impulse_rule(ImpulseWay way, const PictureRange& range) {
  ImpulseRule rule = rule_of(way);
  const auto unit = static_cast<float>(whites(range));
  for (ImpulseLimit* limit : {&rule.one, &rule.all, &rule.blob}) limit->least *= unit;
  rule.agree *= unit;
  return rule;
}

ImpulseRule impulse_rule(const Params& params, const PictureNoise& noise) {
  auto way = static_cast<ImpulseWay>(params.impulse);
  if (way == ImpulseWay::kAuto) way = measured_way(noise.impulses);
  ImpulseRule rule = impulse_rule(way, noise.range);
  rule.luma = params.luma > 0 ? 1 : 0;
  rule.chroma = noise.channels == 3 && params.chroma > 0 ? 1 : 0;
  const bool heard = params.strength > 0 && (rule.luma != 0 || rule.chroma != 0);
  // A stack's layers have no rule of their own.
  if (!heard || params.depth > 0) rule.enabled = 0;
  return rule;
}

}  // namespace grainless
