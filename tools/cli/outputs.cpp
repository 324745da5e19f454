// SPDX-License-Identifier: MIT
#include "outputs.h"

#include <filesystem>
#include <set>

#include "engine/boundary/status.h"
#include "tools/image_io/files.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

namespace fs = std::filesystem;

bool names_folder(const std::string& path) {
  return path.ends_with('/') || path.ends_with(char{fs::path::preferred_separator});
}

Job make_job(const std::string& input, const std::string& output, bool several) {
  const fs::path name(input);
  std::error_code error;
  if (const size_t at = output.find("{}"); at != std::string::npos) {
    const std::string stem = name.stem().string();
    // "{}/clean.png" would lie in another folder than the one that was named.
    if (stem == "." || stem == "..")
      fail_file(input, "has no name that could stand in place of {}");
    const fs::path path = std::string(output).replace(at, 2, stem);
    const bool missing = path.has_parent_path() && !fs::exists(path.parent_path(), error);
    return {input, path.string(), missing ? path.parent_path().string() : ""};
  }
  const bool exists = fs::is_directory(output, error);
  if (exists || names_folder(output)) {
    return {input, (fs::path(output) / name.filename()).string(), exists ? "" : output};
  }
  if (several) {
    throw Error(ErrorCode::kBadInput,
                "several inputs need an output that is a folder, ends in '/', or contains {} for "
                "the input's name; '" +
                    output + "' is none");
  }
  return {input, output, ""};
}

void check_folder(const Job& job) {
  const std::string parent = fs::path(job.output).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  std::error_code error;
  if (!job.new_folder.empty()) {
    if (fs::exists(fs::path(folder), error)) fail_file(folder, "is not a folder");
    return;
  }
  if (!can_write_into(folder)) fail_errno(job.output, "written");
}

// The files that are read, by name and, for hard links, by place on the disk: a look-up a file, for
// batches of thousands.
class Sources {
 public:
  void add(const std::string& path) {
    names_.insert(resolve_links(path));
    if (const auto id = file_id(path)) files_.insert(*id);
  }
  void check_not_read(const std::string& output) const {
    const auto id = file_id(output);
    if (names_.contains(resolve_links(output)) || (id && files_.contains(*id))) {
      fail_file(output, "is also read: inputs are never overwritten, choose another output");
    }
  }

 private:
  std::set<std::string> names_;
  std::set<FileId> files_;
};

}  // namespace

std::vector<Job> plan_outputs(const std::vector<std::string>& inputs, const std::string& output,
                              const std::string& reference) {
  std::vector<Job> jobs;
  Sources sources;
  for (const std::string& input : inputs) sources.add(input);
  if (!reference.empty()) sources.add(reference);
  std::set<std::string> outputs;
  for (const std::string& input : inputs) {
    const Job job = make_job(input, output, inputs.size() > 1);
    kind_of_output(job.output);
    check_folder(job);
    sources.check_not_read(job.output);
    if (!outputs.insert(resolve_links(job.output)).second) {
      fail_file(job.output, "would be written twice: two inputs lead to it");
    }
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace grainless::tools
