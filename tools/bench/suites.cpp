// SPDX-License-Identifier: MIT
// Peers: measured by us on one NVIDIA H200, kernels only, float32 data on the card, median of 3 to
// 7 runs. BM3DCUDA and zipcu use groups of 8, no match threshold, a DCT on all axes and no Kaiser
// window; ours are the full method at the given quality. Seeds: as published, on the cards they
// name.
#include <array>

#include "bench_case.h"

namespace grainless::tools {
namespace {

struct Row {
  const char* name;
  Method method;
  int32_t width, height, channels, step, search, patch;
  std::array<Peer, 2> peers;  // the second may have no name
  Transform transform = Transform::kBior15;
  Stages stages = Stages::kAll;
};

const Row kPeerRows[] = {
    {"BM3D 6000x4000 grey, step 3, 39x39",
     Method::kBm3d,
     6000,
     4000,
     1,
     3,
     39,
     0,
     {{{"BM3DCUDA", 149.9}, {"zipcu", 152.8}}}},
    {"BM3D 6000x4000 colour, step 3, 39x39",
     Method::kBm3d,
     6000,
     4000,
     3,
     3,
     39,
     0,
     {{{"BM3DCUDA", 233.0}, {"zipcu", 183.4}}}},
    {"BM3D 6000x4000 grey, step 4, 19x19",
     Method::kBm3d,
     6000,
     4000,
     1,
     4,
     19,
     0,
     {{{"BM3DCUDA", 28.3}, {"zipcu", 25.7}}}},
    {"BM3D 6000x4000 colour, step 4, 19x19",
     Method::kBm3d,
     6000,
     4000,
     3,
     4,
     19,
     0,
     {{{"BM3DCUDA", 76.8}, {"zipcu", 53.6}}}},
    {"BM3D 512x512 grey, step 3, 39x39",
     Method::kBm3d,
     512,
     512,
     1,
     3,
     39,
     0,
     {{{"BM3DCUDA", 1.84}, {}}}},
    {"BM3D 512x512 colour, step 3, 39x39",
     Method::kBm3d,
     512,
     512,
     3,
     3,
     39,
     0,
     {{{"BM3DCUDA", 3.15}, {}}}},
    {"NLM 6000x4000 colour, 21x21, 9x9",
     Method::kNlm,
     6000,
     4000,
     3,
     0,
     21,
     9,
     {{{"zipcu", 80.8}, {"vs-nlm-cuda", 220}}}},
    {"NLM 6000x4000 grey, 21x21, 7x7",
     Method::kNlm,
     6000,
     4000,
     1,
     0,
     21,
     7,
     {{{"zipcu", 45.3}, {"vs-nlm-cuda", 132}}}},
    {"NLM 720x480 colour, 21x21, 9x9",
     Method::kNlm,
     720,
     480,
     3,
     0,
     21,
     9,
     {{{"zipcu", 1.22}, {"vs-nlm-cuda", 3.6}}}},
    {"NLM 512x512 grey, 21x21, 7x7",
     Method::kNlm,
     512,
     512,
     1,
     0,
     21,
     7,
     {{{"zipcu", 0.585}, {"vs-nlm-cuda", 2.75}}}},
};

const Row kSeedRows[] = {
    {"NLM 720x480 colour, 21x21, 9x9",
     Method::kNlm,
     720,
     480,
     3,
     0,
     21,
     9,
     {{{"Marques & Pardo (GTX 680)", 88}, {}}}},
    {"NLM 512x512 grey, 21x21, 7x7",
     Method::kNlm,
     512,
     512,
     1,
     0,
     21,
     7,
     {{{"van der Vuurst (GTX 1080)", 148}, {"Wahid et al. (940M)", 117000}}}},
    {"SW-NLM 512x512 grey, 21x21, 7x7",
     Method::kSwNlm,
     512,
     512,
     1,
     0,
     21,
     7,
     {{{"van der Vuurst (GTX 1080)", 1180}, {}}}},
    {"SW-NLM 2592x1728 grey, 21x21, 7x7",
     Method::kSwNlm,
     2592,
     1728,
     1,
     0,
     21,
     7,
     {{{"van der Vuurst (GTX 1080)", 20300}, {}}}},
    {"BM3D stage 1, DFT, 3000x3000 grey",
     Method::kBm3d,
     3000,
     3000,
     1,
     3,
     39,
     0,
     {{{"Honzatko (GTX 980)", 3130}, {}}},
     Transform::kDft,
     Stages::kFirst},
    {"BM3D 3000x3000 grey, both stages",
     Method::kBm3d,
     3000,
     3000,
     1,
     3,
     39,
     0,
     {{{"Honzatko, stage 1 only (GTX 980)", 3130}, {}}}},
};

// Palma et al. (2013): a cube of voxels, and cubes as search box and patch. They print times of
// their largest only.
struct CubeRow {
  int32_t side, search, patch;
  const char* peer;
  double milliseconds;
};
constexpr CubeRow kCubeRows[] = {
    {64, 11, 3, nullptr, 0},  {128, 11, 3, nullptr, 0},
    {256, 11, 3, nullptr, 0}, {512, 11, 3, "Palma et al. (Tesla S2050)", 264000},
    {128, 21, 3, nullptr, 0}, {128, 11, 5, nullptr, 0},
    {128, 21, 5, nullptr, 0}};

// Their grid: every cube with every box and patch.
constexpr int32_t kGridSides[] = {64, 128, 256, 512};
constexpr CubeRow kGridBoxes[] = {
    {0, 11, 3, nullptr, 0}, {0, 21, 3, nullptr, 0}, {0, 11, 5, nullptr, 0}, {0, 21, 5, nullptr, 0}};

struct Size {
  int32_t width, height;
};
constexpr Size kScalingSizes[] = {{612, 408},   {1224, 816},  {2448, 1632}, {4242, 2828},
                                  {6000, 4000}, {8485, 5657}, {12000, 8000}};

BenchCase case_of(const Row& row, const BenchCase& given) {
  BenchCase bench = given;
  bench.name = row.name;
  bench.layers = 1;
  bench.depth = 0;
  bench.width = row.width;
  bench.height = row.height;
  bench.format.channels = row.channels;
  bench.params.method = static_cast<int32_t>(row.method);
  bench.params.step = row.step;
  bench.params.search = row.search;
  bench.params.patch = row.patch;
  bench.params.transform = static_cast<int32_t>(row.transform);
  bench.params.stages = static_cast<int32_t>(row.stages);
  for (const Peer& peer : row.peers) {
    if (!peer.name.empty()) bench.peers.push_back(peer);
  }
  return bench;
}

BenchCase cube_case(const CubeRow& row, const BenchCase& given) {
  const auto cube = [](int32_t side) { return std::to_string(side) + "^3"; };
  BenchCase bench = given;
  bench.name = "3-D NLM " + cube(row.side) + " grey, " + cube(row.search) + ", " + cube(row.patch);
  bench.width = bench.height = bench.layers = row.side;
  bench.depth = row.search / 2;
  bench.format.channels = 1;
  bench.params.method = static_cast<int32_t>(Method::kNlm);
  bench.params.search = row.search;
  bench.params.patch = row.patch;
  if (row.peer != nullptr) bench.peers.push_back({row.peer, row.milliseconds});
  return bench;
}

std::vector<BenchCase> volumes(const BenchCase& given) {
  std::vector<BenchCase> cases;
  for (const CubeRow& box : kGridBoxes) {
    for (int32_t side : kGridSides) {
      CubeRow row = box;
      row.side = side;
      cases.push_back(cube_case(row, given));
    }
  }
  return cases;
}

std::string size_name(const BenchCase& bench) {
  return param_text(bench.params, *find_param("method")) + " " + std::to_string(bench.width) + "x" +
         std::to_string(bench.height) +
         (bench.depth > 0 ? "x" + std::to_string(bench.layers) : "") +
         (bench.format.colours() == 3 ? " colour" : " grey");
}

std::vector<BenchCase> scaling(const BenchCase& given) {
  std::vector<BenchCase> cases;
  for (const Size& size : kScalingSizes) {
    BenchCase bench = given;
    bench.width = size.width;
    bench.height = size.height;
    bench.name = size_name(bench);
    cases.push_back(bench);
  }
  return cases;
}

}  // namespace

std::vector<BenchCase> suite(const std::string& name, const BenchCase& given) {
  std::vector<BenchCase> cases;
  if (name == "peers") {
    for (const Row& row : kPeerRows) cases.push_back(case_of(row, given));
  } else if (name == "seeds") {
    for (const Row& row : kSeedRows) cases.push_back(case_of(row, given));
    for (const CubeRow& row : kCubeRows) cases.push_back(cube_case(row, given));
  } else if (name == "volumes") {
    cases = volumes(given);
  } else if (name == "scaling") {
    cases = scaling(given);
  } else if (name == "one") {
    cases.push_back(given);
    cases.back().name = size_name(given);
  } else {
    throw Error(
        ErrorCode::kBadParameter,
        "there is no suite '" + name + "': one, peers, seeds, volumes and scaling are known");
  }
  return cases;
}

}  // namespace grainless::tools
