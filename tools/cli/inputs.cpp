// SPDX-License-Identifier: MIT
#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "engine/boundary/status.h"
#include "engine/platform/file.h"
#include "engine/progress.h"
#include "engine_setup.h"
#include "tools/image_io/files.h"

namespace grainless::tools {
namespace {

namespace fs = std::filesystem;

// Without the mark that editors of Windows begin UTF-8 with. A name ends at a NUL byte, as of
// find's -print0 or in UTF-16: the first of a line would be taken for all.
std::vector<std::string> read_lines(std::istream& stream, const std::string& path) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (lines.empty() && line.starts_with(kMark)) line.erase(0, kMark.size());
    if (line.find('\0') != std::string::npos) {
      fail_file(path, "is no list of names, one a line: it holds NUL bytes");
    }
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// Names may come slowly, from a program that looks for them or a person who types them.
std::string read_until_end(const std::string& path) {
  std::string text;
  Reading reading = Reading::kSome;
  while (reading != Reading::kEnd) {
    throw_if_cancelled(&cancel_token());
    reading = read_standard_input(text);
    if (reading == Reading::kFailed) fail_errno(path, "read");
  }
  return text;
}

// None for a file that is missing.
std::optional<int64_t> changed(const std::string& path) {
  const std::optional<FileInfo> info = file_info(path);
  return info ? std::optional(info->changed) : std::nullopt;
}

bool parse_number(std::string_view text, int64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stopped == end;
}

}  // namespace

std::vector<std::string> read_list(const std::string& path) {
  const std::optional<FileInfo> info = file_info(path);
  const bool other = info && info->kind == FileKind::kOther;
  if (path == "-" || (other && become_standard_input(path))) {
    std::istringstream stream(read_until_end(path));
    return read_lines(stream, path);
  }
  const InputFile opened(path);  // says why it can't be read
  std::ifstream stream{fs::path(path)};
  std::vector<std::string> lines = read_lines(stream, path);
  if (stream.bad()) fail_errno(path, "read");
  return lines;
}

Part parse_part(const std::string& text) {
  Part part;
  if (text.empty()) return part;
  const size_t slash = text.find('/');
  const std::string_view all = text;
  if (slash == std::string::npos || !parse_number(all.substr(0, slash), part.number) ||
      !parse_number(all.substr(slash + 1), part.parts) || part.number < 1 ||
      part.number > part.parts) {
    throw Error(ErrorCode::kBadParameter,
                "--part takes I/N, the I-th of N parts, as in 1/4; '" + text + "' is none");
  }
  return part;
}

std::vector<Job> part_of(const std::vector<Job>& jobs, const Part& part) {
  std::vector<Job> chosen;
  for (auto i = static_cast<size_t>(part.number - 1); i < jobs.size();
       i += static_cast<size_t>(part.parts)) {
    chosen.push_back(jobs[i]);
  }
  return chosen;
}

std::vector<Job> unfinished(const std::vector<Job>& jobs,
                            const std::vector<std::string>& settings) {
  std::optional<int64_t> newest;
  for (const std::string& file : settings) newest = std::max(newest, changed(file));
  std::vector<Job> chosen;
  for (const Job& job : jobs) {
    const auto output = changed(job.output);
    const auto input = changed(job.input);
    // A missing input is reported when its turn comes.
    if (!output || !input || *output <= *input || output <= newest) chosen.push_back(job);
  }
  return chosen;
}

}  // namespace grainless::tools
