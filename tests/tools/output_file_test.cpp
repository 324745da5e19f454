// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "engine/progress.h"
#include "tool_testing.h"
#include "tools/image_io/files.h"
#include "tools/image_io/image_file.h"

#ifndef _WIN32
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace grainless::tools {
namespace {

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const Folder folder;
  write_text(folder.file("a"), "old");
  {
    OutputFile file(folder.file("a"));
    file.write("new", 3);
    EXPECT_EQ(folder.entries(), 2u);
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(file_bytes(folder.file("a")), (std::vector<uint8_t>{'o', 'l', 'd'}));
}

TEST(OutputFile, ReplacesAtOnce) {
  const Folder folder;
  write_text(folder.file("a"), "old");
  {
    OutputFile file(folder.file("a"));
    file.write("new", 3);
    file.commit();
  }
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(file_bytes(folder.file("a")), (std::vector<uint8_t>{'n', 'e', 'w'}));
}

#ifdef _WIN32
TEST(OutputFile, NobodyElseOpensTheTemporaryFile) {
  const Folder folder;
  OutputFile file(folder.file("a"));
  const auto entry = std::filesystem::directory_iterator(folder.path());
  EXPECT_FALSE(std::ifstream(entry->path()).is_open());
}
#else
TEST(OutputFile, KeepsPermissions) {
  const Folder folder;
  write_text(folder.file("a"), "old");
  ASSERT_EQ(chmod(folder.file("a").c_str(), 0640), 0);
  {
    OutputFile file(folder.file("a"));
    file.write("new", 3);
    file.commit();
  }
  struct stat info;
  ASSERT_EQ(stat(folder.file("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
}

mode_t permissions(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777u : 0;
}

TEST(OutputFile, NobodyElseReadsTheTemporaryFile) {
  const Folder folder;
  OutputFile file(folder.file("a"));
  const auto entry = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(permissions(entry->path().string()), 0600u);
}

// umask() can be asked only by setting it: what other threads create meanwhile is open to all.
TEST(OutputFile, WritersLeaveTheProcessUmaskAlone) {
  const Folder folder;
  const mode_t before = umask(027);
  std::atomic<bool> done{false}, changed{false};
  std::thread watch([&] {
    while (!done) {
      const int probe = open(folder.file("probe").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
      close(probe);
      if (permissions(folder.file("probe")) != 0640u) changed = true;
      unlink(folder.file("probe").c_str());
    }
  });
  std::vector<std::thread> writers;
  for (const char* name : {"a", "b", "c"}) {
    writers.emplace_back([&folder, name] {
      for (int i = 0; i < 300; ++i) OutputFile(folder.file(name)).write("new", 3);
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  watch.join();
  umask(before);
  EXPECT_FALSE(changed);
}

#endif

// A run that was killed holds no lock any more; one that lives does.
TEST(OutputFile, TakesAwayWhatAKilledRunLeft) {
  const Folder folder;
  std::filesystem::create_directory(folder.file("sub"));
  const OutputFile alive(folder.file("sub/a"));
  write_text(folder.file("sub/.grainless-Ab3xYz"), "left");
  write_text(folder.file("sub/.grainless-notes"), "somebody's");
  // A folder not seen yet. Windows moves none with an open file, and knows it by this name, too.
#ifdef _WIN32
  const std::string moved = folder.file("SUB");
#else
  const std::string moved = folder.file("moved");
  std::filesystem::rename(folder.file("sub"), moved);
#endif
  const OutputFile next(moved + "/b");
  EXPECT_FALSE(std::filesystem::exists(moved + "/.grainless-Ab3xYz"));
  EXPECT_TRUE(std::filesystem::exists(moved + "/.grainless-notes"));
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(moved)) {
    entries += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(entries, 3u);  // the notes and two that are being written
}

#ifndef _WIN32
// Another run in the same folder takes away what has no lock: the name has to come first.
TEST(OutputFile, HoldsItsLockUntilItHasItsName) {
  const Folder folder;
  std::atomic<bool> done = false;
  std::atomic<int> unlocked = 0, seen = 0;
  std::thread other([&] {
    while (!done) {
      for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        if (!entry.path().filename().string().starts_with(".grainless-")) continue;
        const int descriptor = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) continue;
        ++seen;
        while (flock(descriptor, LOCK_EX | LOCK_NB) != 0 &&
               access(entry.path().c_str(), F_OK) == 0) {
        }
        // An empty one is new, and waits for its lock.
        struct stat info{};
        const bool full = fstat(descriptor, &info) == 0 && info.st_size > 0;
        const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) != 0;
        unlocked += full && !locked && access(entry.path().c_str(), F_OK) == 0 ? 1 : 0;
        close(descriptor);
      }
    }
  });
  for (int i = 0; i < 300; ++i) {
    OutputFile file(folder.file("a"));
    file.write("new", 3);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    file.commit();
  }
  done = true;
  other.join();
  EXPECT_GT(seen, 0);
  EXPECT_EQ(unlocked, 0);
}

TEST(OutputFile, WritesThroughSymbolicLinks) {
  const Folder folder;
  write_text(folder.file("real"), "old");
  std::filesystem::create_symlink("real", folder.file("link"));
  {
    OutputFile file(folder.file("link"));
    file.write("new", 3);
    file.commit();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(file_bytes(folder.file("real")), (std::vector<uint8_t>{'n', 'e', 'w'}));
}

#endif

TEST(OutputFile, RefusesFoldersDevicesAndMissingFolders) {
  const Folder folder;
  EXPECT_NE(refusal([&] { OutputFile file(folder.path().string()); }).find("folder"),
            std::string::npos);
  EXPECT_NE(refusal([&] { OutputFile file(test::kDevice); }).find("regular"), std::string::npos);
  EXPECT_NE(refusal([&] { OutputFile file(folder.file("no/a")); }).find("No such file"),
            std::string::npos);
}

TEST(OutputFile, KnowsOneFileByItsManyNames) {
  const Folder folder;
  write_text(folder.file("a"), "x");
  write_text(folder.file("b"), "x");
  std::filesystem::create_hard_link(folder.file("a"), folder.file("hard"));
  EXPECT_EQ(file_id(folder.file("a")), file_id(folder.file("hard")));
#ifdef _WIN32
  EXPECT_EQ(file_id(folder.file("a")), file_id(folder.file("A")));
#else
  std::filesystem::create_symlink(folder.file("a"), folder.file("soft"));
  EXPECT_EQ(file_id(folder.file("a")), file_id(folder.file("soft")));
#endif
  EXPECT_EQ(file_id(folder.file("a")), file_id(folder.file("./a")));
  EXPECT_NE(file_id(folder.file("a")), file_id(folder.file("b")));
  EXPECT_FALSE(file_id(folder.file("gone")));
}

TEST(OutputFile, CancelledWritingLeavesNothing) {
  CancelToken cancel;
  cancel.cancel();
  for (const char* name : {"a.png", "a.tif", "a.pam", "a.ppm", "a.pfm"}) {
    if (std::string(name) == "a.png" && !GRAINLESS_HAVE_PNG) continue;
    if (std::string(name) == "a.tif" && !GRAINLESS_HAVE_TIFF) continue;
    const Folder folder;
    try {
      write_image(folder.file(name), random_image({Component::kU8, 3}, 5, 5), &cancel);
      ADD_FAILURE() << name << " was written";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    EXPECT_EQ(folder.entries(), 0u) << name;
  }
}

}  // namespace
}  // namespace grainless::tools
