// SPDX-License-Identifier: MIT
// The choices that parameters offer, as numbers: what a Plan and the module boundary know of them.
// Their words are in engine/params. The numbers cross the boundary (abi.h): append only.
#pragma once

#include <cstdint>

namespace grainless {

enum class Method : int32_t { kBm3d = 0, kNlm = 1, kSwNlm = 2, kDct = 3 };
enum class Quality : int32_t { kFast = 0, kNormal = 1, kHigh = 2 };
enum class Transform : int32_t { kBior15 = 0, kDct = 1, kDft = 2, kHaar = 3, kHadamard = 4 };
enum class Matching : int32_t { kNoisy = 0, kPrefiltered = 1 };
enum class Stages : int32_t { kAll = 0, kFirst = 1 };
enum class Centre : int32_t { kAuto = 0, kMax = 1, kOne = 2, kZero = 3 };
enum class ImpulseWay : int32_t { kOff = 0, kAuto = 1, kWeak = 2, kNormal = 3, kStrong = 4 };
enum class WeightRule : int32_t { kLessNoise = 0, kClassic = 1 };

}  // namespace grainless
