// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench_case.h"

namespace grainless::tools {

std::string table_head();
std::string table_row(const BenchCase& bench, const BenchResult& result);
nlohmann::ordered_json json_row(const BenchCase& bench, const BenchResult& result);

}  // namespace grainless::tools
