// SPDX-License-Identifier: MIT
// What a build without libraries of pictures says of their files.
#include "tool_testing.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

TEST(BareImageIo, FilesThatWantALibraryAreRefusedWithTheirName) {
  const Folder folder;
  const std::string path = folder.file("picture");
  for (const auto& [magic, name] : {std::pair{std::string("\x89PNG\r\n\x1a\n"), "PNG"},
                                    {std::string("II*\0", 4), "TIFF"},
                                    {std::string("\xff\xd8\xff\xe0"), "JPEG"}}) {
    write_text(path, magic + std::string(100, 'x'));
    const std::string said = refusal([&] { read_image(path); });
    EXPECT_NE(said.find(std::string("is a ") + name + " file, and this build"), std::string::npos)
        << said;
    EXPECT_NE(said.find("it knows PGM, PPM, PAM, PFM"), std::string::npos) << said;
  }
}

TEST(BareImageIo, OutputsOfSuchKindsAreRefused) {
  for (const char* path : {"a.png", "a.tif", "a.jpg"}) EXPECT_THROW(kind_of_output(path), Error);
  EXPECT_EQ(kind_of_output("a.ppm"), FileKind::kPpm);
}

}  // namespace
}  // namespace grainless::tools
