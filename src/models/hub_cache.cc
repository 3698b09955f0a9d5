#include "models/hub_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/printable.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGgufSuffix = ".gguf";

// The variable's folder, with ~ as the user's; nothing where it is not set or empty.
std::optional<fs::path> folder_of_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string path = value;
  const char* home = std::getenv("HOME");
  if (home != nullptr && (path == "~" || path.starts_with("~/"))) return fs::path(home + path.substr(1));
  return path;
}

struct HubName {
  std::string model, revision, file;  // file "": none is named
};

// owner/name[@revision][/file.gguf]; nothing for what is no such name.
std::optional<HubName> parse_hub_name(const std::string& text) {
  HubName name{.model = text, .revision = "main", .file = ""};
  if (text.ends_with(kGgufSuffix)) {
    const size_t first = text.find('/'),
                 second = text.find('/', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) return std::nullopt;
    name.file = text.substr(second + 1);
    name.model = text.substr(0, second);
  }
  if (const size_t at = name.model.find('@'); at != std::string::npos) {
    name.revision = name.model.substr(at + 1);
    name.model.resize(at);
  }
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  const auto is_plain = [&](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), is_word) &&
           part.find("..") == std::string::npos && part.front() != '/' && part.front() != '.' &&
           part.back() != '/';
  };
  if (!is_plain(name.model) || !is_plain(name.revision) || (!name.file.empty() && !is_plain(name.file)) ||
      std::count(name.model.begin(), name.model.end(), '/') > 1)
    return std::nullopt;
  return name;
}

std::vector<std::string> gguf_files_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.path().extension() == kGgufSuffix)
      files.push_back(entry.path().lexically_relative(folder).string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto folder = folder_of_variable(name)) return *folder;
  if (const auto folder = folder_of_variable("HF_HOME")) return *folder / "hub";
  if (const auto folder = folder_of_variable("XDG_CACHE_HOME")) return *folder / "huggingface" / "hub";
  const auto home = folder_of_variable("HOME");
  return home.value_or("/") / ".cache" / "huggingface" / "hub";
}

std::string model_path(const std::string& folder_or_name) {
  std::error_code ignored;
  if (fs::exists(folder_or_name, ignored)) return folder_or_name;
  const std::string shown = printable(folder_or_name);
  const fs::path cache = hub_cache_folder();
  const auto refuse = [&](const std::string& why) {
    throw_error(ErrorKind::Runtime, fmt::format("'{}': not a folder, and no GGUF file{}", shown, why));
  };
  const std::optional<HubName> name = parse_hub_name(folder_or_name);
  if (!name) refuse(", and no name of a model on Hugging Face's hub");
  std::string kept = "models--" + name->model;
  if (const size_t slash = kept.find('/'); slash != std::string::npos) kept.replace(slash, 1, "--");
  const fs::path of_model = cache / kept;
  if (!fs::is_directory(of_model, ignored))
    refuse(fmt::format(
        ", and no model of that name in Hugging Face's cache '{}' (HF_HUB_CACHE and HF_HOME say where "
        "it is; weft does not download)",
        cache.string()));
  std::string commit = runtime::read_file(of_model / "refs" / name->revision).value_or(name->revision);
  commit.erase(std::find_if(commit.begin(), commit.end(), [](char c) { return c == '\n' || c == ' '; }),
               commit.end());
  const fs::path folder = of_model / "snapshots" / commit;
  if (commit.empty() || !fs::is_directory(folder, ignored))
    refuse(fmt::format("; in Hugging Face's cache, '{}' has no revision '{}'", of_model.string(),
                       printable(name->revision)));
  if (!name->file.empty()) {
    if (!fs::exists(folder / name->file, ignored))
      refuse(fmt::format("; in Hugging Face's cache, '{}' has no such file", folder.string()));
    return folder / name->file;
  }
  if (fs::exists(folder / "config.json", ignored)) return folder;
  const std::vector<std::string> files = gguf_files_in(folder);
  if (files.size() == 1) return folder / files[0];
  if (files.size() > 1)
    refuse(fmt::format("; in Hugging Face's cache it has several GGUF files: name one of {}, as '{}/{}'",
                       fmt::join(files, ", "), shown, files[0]));
  return folder;  // what is missing is said where it is read
}

}  // namespace weft::models
