// SPDX-License-Identifier: MIT
#include "engine/backends/module_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#ifdef _WIN32
#include <windows.h>
// after windows.h
#include <sddl.h>
#else
#include <sys/stat.h>
#endif

#include "engine/boundary/status.h"
#include "engine/platform/library.h"
#include "tests/support/system.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

class ModuleFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::new_folder();
    file_ = folder_ / kModuleFile;
    fs::copy_file(fs::path(FAKE_MODULES) / "fake-good" / kModuleFile, file_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Why it isn't loaded; empty when it is.
  static std::string refusal(const fs::path& path) {
    const Status status = guard([&] { trusted_module(path.string()); });
    EXPECT_TRUE(status.ok() || status.code() == ErrorCode::kDeviceUnavailable);
    return status.message();
  }
  void expect_refused(const std::string& why) {
    EXPECT_NE(refusal(file_).find(why), std::string::npos) << refusal(file_);
  }

  fs::path folder_, file_;
};

TEST_F(ModuleFile, OneOfOursIsTrusted) {
  EXPECT_EQ(trusted_module(file_.string()), fs::canonical(file_).string());
}

#ifdef _WIN32
// SDDL: a list of rights that is not inherited.
void set_rights(const fs::path& path, const wchar_t* text) {
  PSECURITY_DESCRIPTOR rights = nullptr;
  ASSERT_TRUE(ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &rights,
                                                                   nullptr));
  EXPECT_TRUE(SetFileSecurityW(path.c_str(), DACL_SECURITY_INFORMATION, rights));
  LocalFree(rights);
}

TEST_F(ModuleFile, NobodyElseMayWriteToItOrItsFolder) {
  constexpr wchar_t kAll[] = L"D:P(A;;FA;;;BA)(A;;FA;;;WD)",
                    kRead[] = L"D:P(A;;FA;;;BA)(A;;FR;;;WD)";
  set_rights(file_, kAll);
  expect_refused("others can write to " + file_.string());
  set_rights(file_, kRead);
  EXPECT_EQ(refusal(file_), "");
  set_rights(folder_, kAll);
  expect_refused("others can write to " + folder_.string());
}
#else
TEST_F(ModuleFile, LinksAreFollowedToTheFile) {
  const fs::path link = folder_ / "link.so";
  fs::create_symlink(file_, link);
  EXPECT_EQ(trusted_module(link.string()), fs::canonical(file_).string());
  chmod(file_.c_str(), 0666);
  EXPECT_NE(refusal(link), "");
}

TEST_F(ModuleFile, NobodyElseMayWriteToIt) {
  chmod(file_.c_str(), 0666);
  expect_refused("others can write to " + file_.string());
}

TEST_F(ModuleFile, NobodyElseMayWriteToItsFolder) {
  chmod(folder_.c_str(), 0777);
  expect_refused("others can write to " + folder_.string());
  chmod(folder_.c_str(), 01777);  // as /tmp: what is in it stays its owner's
  EXPECT_EQ(refusal(file_), "");
}

#endif

TEST_F(ModuleFile, AMissingOneOrAFolderIsSaid) {
  EXPECT_NE(refusal(folder_ / "none.so").find("not installed"), std::string::npos);
  EXPECT_NE(refusal(folder_).find("is no file"), std::string::npos);
}

// The loader would map it, and the process would die of reading behind the file's end.
TEST_F(ModuleFile, ACutFileIsNotLoaded) {
  std::ifstream stream(file_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  stream.close();
  for (const double share : {0.9999, 0.9, 0.3, 0.01, 0.001, 0.0}) {
    const auto size = static_cast<size_t>(share * static_cast<double>(whole.size()));
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    expect_refused("is damaged");
  }
  std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole;
  EXPECT_EQ(refusal(file_), "");
}

TEST_F(ModuleFile, AnotherKindOfFileIsNotLoaded) {
  std::ofstream(file_, std::ios::trunc) << std::string(100000, 'x');
  expect_refused("is damaged");
}

}  // namespace
}  // namespace grainless
