// SPDX-License-Identifier: MIT
#include "engine/params/preset_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#ifndef _WIN32
#include <sys/stat.h>
#endif

namespace grainless {
namespace {

namespace fs = std::filesystem;

class PresetFolderTest : public testing::Test {
 protected:
  PresetFolderTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("grainless-preset-") + test->name());
    fs::remove_all(root_);
  }
  ~PresetFolderTest() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return (root_ / "a" / "b" / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(root_ / "a" / "b");
    std::ofstream(fs::path(path(name)), std::ios::binary) << text;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root_ / "a" / "b"), {}));
  }

  fs::path root_;
  PresetFolder folder() const { return PresetFolder((root_ / "a" / "b").string()); }
};

TEST_F(PresetFolderTest, SavesListsLoadsReplacesAndRemoves) {
  const Settings light = {{"strength", "50"}}, dark = {{"luma", "0"}, {"method", "nlm"}};
  EXPECT_TRUE(folder().names().empty());
  ASSERT_TRUE(folder().save("Zoë's wedding", light).ok());
  ASSERT_TRUE(folder().save("Attic", dark).ok());
  ASSERT_TRUE(folder().save("Zoë's wedding", dark).ok());
  EXPECT_EQ(folder().names(), (std::vector<std::string>{"Attic", "Zoë's wedding"}));
  EXPECT_EQ(files(), 2u) << "temporary files were left";
  Settings loaded;
  ASSERT_TRUE(folder().load("Zoë's wedding", loaded).ok());
  EXPECT_EQ(loaded, dark);
  EXPECT_TRUE(folder().has("Attic"));
  ASSERT_TRUE(folder().remove("Attic").ok());
  EXPECT_FALSE(folder().has("Attic"));
  EXPECT_FALSE(folder().remove("Attic").ok());
  EXPECT_EQ(folder().names(), (std::vector<std::string>{"Zoë's wedding"}));
}

TEST_F(PresetFolderTest, ListsNothingWhereThereIsNoFolder) {
  write("file.preset", "method = nlm\n");
  EXPECT_TRUE(PresetFolder(path("none")).names().empty());
  EXPECT_TRUE(PresetFolder(path("file.preset")).names().empty());
}

TEST_F(PresetFolderTest, ARenamedPresetReplacesTheOneOfThatName) {
  const Settings light = {{"strength", "50"}}, dark = {{"luma", "0"}};
  ASSERT_TRUE(folder().save("Attic", light).ok());
  ASSERT_TRUE(folder().save("Cellar", dark).ok());
  ASSERT_TRUE(folder().rename("Attic", "Zoë's attic").ok());
  EXPECT_EQ(folder().names(), (std::vector<std::string>{"Cellar", "Zoë's attic"}));
  EXPECT_FALSE(folder().rename("Attic", "Loft").ok()) << "there is none any more";
  for (const char* bad : {"", "a/b", "../up", "High ISO"}) {
    EXPECT_FALSE(folder().rename("Cellar", bad).ok()) << bad;
    EXPECT_FALSE(folder().rename(bad, "Loft").ok()) << bad;
  }
  ASSERT_TRUE(folder().rename("Zoë's attic", "Cellar").ok());
  Settings loaded;
  ASSERT_TRUE(folder().load("Cellar", loaded).ok());
  EXPECT_EQ(loaded, light) << "the preset of that name was not replaced";
  EXPECT_EQ(files(), 1u);
}

TEST_F(PresetFolderTest, AFileThatSetsNothingIsNoPreset) {
  for (const char* text : {"", "# a comment\n\n"}) {
    write("empty.preset", text);
    Settings settings = {{"luma", "0"}};
    const Status read = read_preset(path("empty.preset"), settings);
    EXPECT_EQ(read.code(), ErrorCode::kBadInput);
    EXPECT_NE(read.message().find("it sets nothing"), std::string::npos) << read.message();
    EXPECT_EQ(settings, (Settings{{"luma", "0"}}));
  }
}

TEST_F(PresetFolderTest, NamesThatAreNoFilesAreRefused) {
  const std::string forbidden[] = {
      "",         "..",   ".hidden", "a/b", "../up", "tab\there",           "end ",
      " top",     "dot.", "a\\b",    "a:b", "a|b",   std::string(101, 'x'), "light",
      "High ISO", "LIGHT"};
  for (const std::string& name : forbidden) {
    EXPECT_EQ(folder().save(name, {{"luma", "0"}}).code(), ErrorCode::kBadParameter) << name;
    Settings settings;
    EXPECT_FALSE(folder().load(name, settings).ok()) << name;
    EXPECT_FALSE(folder().remove(name).ok()) << name;
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(PresetFolderTest, ForeignFilesAreNoPresets) {
  write("notes.txt", "words");
  write(".hidden.preset", "luma = 0\n");
  write("picture.preset", std::string("\x89PNG\0\0", 6));
  write("long.preset", std::string(70000, '#'));
  write("typo.preset", "luma = 0\nlumo = 0\n");
  EXPECT_EQ(folder().names(), (std::vector<std::string>{"long", "picture", "typo"}));
  Settings settings;
  EXPECT_EQ(folder().load("picture", settings).message(),
            "'" + path("picture.preset") + "' is not a preset of Grainless");
  EXPECT_FALSE(folder().load("long", settings).ok());
  EXPECT_EQ(folder().load("typo", settings).message(),
            path("typo.preset") + ", line 2: there is no parameter 'lumo'");
  EXPECT_NE(folder().load("gone", settings).message().find("gone.preset' can't be read"),
            std::string::npos);
}

#ifndef _WIN32
TEST_F(PresetFolderTest, APresetHasTheRightsOfAnyNewFile) {
  const mode_t mask = umask(027);
  EXPECT_TRUE(folder().save("mine", {{"luma", "5"}}).ok());
  umask(mask);
  EXPECT_EQ(fs::status(path("mine.preset")).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1u) << "temporary files were left";
}

#endif

TEST_F(PresetFolderTest, AFileThatCantBeWrittenChangesNothing) {
  write("kept.preset", "luma = 0\n");
  fs::create_directories(path("taken.preset") + "/inside");
  EXPECT_FALSE(folder().save("taken", {{"luma", "5"}}).ok());
  EXPECT_EQ(files(), 2u) << "temporary files were left";
  EXPECT_FALSE(write_preset(path("kept.preset") + "/x.preset", {{"luma", "5"}}).ok());
  Settings settings;
  ASSERT_TRUE(folder().load("kept", settings).ok());
  EXPECT_EQ(settings, (Settings{{"luma", "0"}}));
}

}  // namespace
}  // namespace grainless
