// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench_case.h"

namespace grainless::tools {

// The head of a table in plain text with aligned columns, and a case as a row of it or as JSON.
std::string table_head();
std::string table_row(const BenchCase& bench, const BenchResult& result);
nlohmann::ordered_json json_row(const BenchCase& bench, const BenchResult& result);

}  // namespace grainless::tools
