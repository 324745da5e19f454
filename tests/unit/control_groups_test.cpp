// SPDX-License-Identifier: MIT
#include "engine/platform/posix/control_groups.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "tests/support/system.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();

class ControlGroups : public ::testing::Test {
 protected:
  void SetUp() override { root_ = test::new_folder(); }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  uint64_t left(const std::string& membership) {
    write("membership", membership);
    return left_by_groups(root_ / "membership", root_);
  }

  fs::path root_;
};

TEST_F(ControlGroups, WithoutThemNothingIsBound) {
  EXPECT_EQ(left_by_groups(root_ / "missing", root_), kNoBound);
  EXPECT_EQ(left(""), kNoBound);
  EXPECT_EQ(left("0::/\n"), kNoBound);
  EXPECT_EQ(left("no line of these\n0:\n:::\n"), kNoBound);
}

TEST_F(ControlGroups, WhatIsLeftIsTheLimitWithoutWhatIsUsed) {
  write("job/memory.max", "1000\n");
  write("job/memory.current", "300\n");
  EXPECT_EQ(left("0::/job\n"), 700u);
}

TEST_F(ControlGroups, CachesAreNotUsed) {
  write("job/memory.max", "1000\n");
  write("job/memory.current", "900\n");
  write("job/memory.stat", "anon 250\nfile 650\nactive_file 150\ninactive_file 400\n");
  EXPECT_EQ(left("0::/job\n"), 650u);
}

TEST_F(ControlGroups, OfGroupsInEachOtherTheTightestCounts) {
  write("memory.max", "max\n");
  write("a/memory.max", "500\n");
  write("a/memory.current", "450\n");
  write("a/b/memory.max", "400\n");
  write("a/b/memory.current", "100\n");
  write("a/b/c/memory.max", "max\n");
  EXPECT_EQ(left("0::/a/b/c\n"), 50u);
}

TEST_F(ControlGroups, MoreThanTheLimitLeavesNothing) {
  write("job/memory.max", "1000\n");
  write("job/memory.current", "1200\n");
  EXPECT_EQ(left("0::/job\n"), 0u);
}

TEST_F(ControlGroups, TheFirstVersionHasItsOwnNames) {
  write("memory/job/memory.limit_in_bytes", "2000\n");
  write("memory/job/memory.usage_in_bytes", "600\n");
  write("memory/job/memory.stat", "active_file 1\ntotal_active_file 50\ntotal_inactive_file 50\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(left("9:pids:/job\n4:cpu,memory:/job\n0::/job\n"), 1500u);
}

// As of Docker, without a name space of its own.
TEST_F(ControlGroups, AContainersOwnGroupMayBeTheRoot) {
  write("memory.max", "700\n");
  write("memory.current", "100\n");
  EXPECT_EQ(left("0::/docker/0123abcd\n"), 600u);
  EXPECT_EQ(left("0::/../../elsewhere\n"), 600u);
}

}  // namespace
}  // namespace grainless
