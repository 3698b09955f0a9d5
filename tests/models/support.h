// Folders, files and small models for tests of models.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/error_of.h"
#include "support/shared_data.h"
#include "weft/error.h"
#include "weft/models/config.h"

namespace weft::models {

using testing_support::shared_data;

inline std::string stories() {
  const std::string folder = shared_data() + "/stories260k";
  return std::filesystem::exists(folder) ? folder : "";
}
#define WEFT_NEEDS_STORIES() \
  if (stories().empty()) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)"

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-models-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& file = "") const { return file.empty() ? path_ : path_ + "/" + file; }
  std::string write(const std::string& file, const std::string& text) const {
    std::ofstream(path(file), std::ios::binary) << text;
    return path(file);
  }

 private:
  std::string path_;
};

using testing_support::error_of;

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// tokenizer.json of `tokens` words "w0 ", "w1 ", …, of which `gaps` are none.
inline std::string tokenizer_text(int64_t tokens, const std::vector<int64_t>& gaps = {}) {
  std::string vocabulary;
  for (int64_t id = 0; id < tokens; ++id)
    if (std::find(gaps.begin(), gaps.end(), id) == gaps.end())
      vocabulary +=
          (vocabulary.empty() ? "" : ", ") + ("\"w" + std::to_string(id)) + " \": " + std::to_string(id);
  return R"({"model": {"type": "BPE", "vocab": {)" + vocabulary + R"(}, "merges": []}, "added_tokens": []})";
}

// A model of few weights, with what a family has and the stories have not.
inline DecoderConfig small_config(const std::string& type) {
  DecoderConfig config = named_config("tiny");
  config.model_type = type;
  config.num_layers = 2;
  config.vocab_size = 96;
  config.max_position_embeddings = 128;
  if (type == "mistral") config.layers.assign(2, {.window = 7});
  if (type == "qwen2") config.qkv_bias = true;
  return config;
}

}  // namespace weft::models
