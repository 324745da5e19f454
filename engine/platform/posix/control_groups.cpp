// SPDX-License-Identifier: MIT
#include "control_groups.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "system_text.h"

namespace grainless {
namespace {

constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();

// What the files of a group are called.
struct GroupFiles {
  const char *limit, *used;
  std::string_view caches[2];  // lines of memory.stat: what the system takes back when it has to
};
constexpr GroupFiles kFirstVersion{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};
constexpr GroupFiles kSecondVersion{
    "memory.max", "memory.current", {"active_file", "inactive_file"}};

// `otherwise` where the file is missing or says "max".
uint64_t number_in(const std::string& path, uint64_t otherwise) {
  std::istringstream file(system_text(path));
  uint64_t number = 0;
  return file >> number ? number : otherwise;
}

uint64_t caches_in(const std::string& group, const GroupFiles& files) {
  std::istringstream file(system_text(group + "/memory.stat"));
  uint64_t sum = 0, bytes = 0;
  for (std::string key; file >> key >> bytes;) {
    if (std::ranges::find(files.caches, key) != std::end(files.caches)) sum += bytes;
  }
  return sum;
}

uint64_t left_by_group(const std::string& group, const GroupFiles& files) {
  const uint64_t limit = number_in(group + "/" + files.limit, kNoBound);
  if (limit == kNoBound) return kNoBound;
  const uint64_t used = number_in(group + "/" + files.used, 0);
  const uint64_t kept = used - std::min(used, caches_in(group, files));
  return limit - std::min(limit, kept);
}

// The group and all above it. A container may see its own group as the root, under a name that the
// host knows it by ("/docker/12ab", "/../12ab"), which leads nowhere there. Names are no
// std::filesystem::path: taking those apart crashes where memory ends.
uint64_t left_by_all(const std::string& root, std::string name, const GroupFiles& files) {
  uint64_t left = kNoBound;
  for (; !name.empty(); name.erase(name.rfind('/'))) {
    if (name.front() != '/') return left;
    if (name.size() > 1) left = std::min(left, left_by_group(root + name, files));
  }
  return std::min(left, left_by_group(root, files));
}

bool has_memory(std::string_view controllers) {
  return ("," + std::string(controllers) + ",").find(",memory,") != std::string::npos;
}

}  // namespace

// Each line is HIERARCHY:CONTROLLERS:NAME; the second version's hierarchy has no controllers there.
uint64_t left_by_groups(const std::string& membership, const std::string& root) {
  std::istringstream file(system_text(membership));
  uint64_t left = kNoBound;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string name = line.substr(second + 1);
    if (controllers.empty()) left = std::min(left, left_by_all(root, name, kSecondVersion));
    if (has_memory(controllers)) {
      left = std::min(left, left_by_all(root + "/memory", name, kFirstVersion));
    }
  }
  return left;
}

}  // namespace grainless
