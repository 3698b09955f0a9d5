#include "weft/models/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "models/gguf_model.h"
#include "models/hub_cache.h"
#include "models/tokenizers.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  const std::optional<std::string> text = runtime::read_file(path);
  if (!text)
    throw_error(ErrorKind::Runtime,
                fmt::format("tokenizer '{}': cannot be read: {}", path, std::strerror(errno)));
  runtime::check_no_lfs_pointer(*text, fmt::format("tokenizer '{}'", path));
  return *text;
}

// tiktoken's files have lines of base64, a space and a number.
bool is_tiktoken(const std::string& bytes) {
  const size_t line = bytes.find('\n'), space = bytes.find(' ');
  if (space == std::string::npos || space == 0 || space > 1024 || (line != std::string::npos && line < space))
    return false;
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '=';
  };
  return std::all_of(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(space), is_base64) &&
         space + 1 < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[space + 1]));
}

}  // namespace

std::shared_ptr<Tokenizer> open_sentencepiece(const std::string& path) {
  return parse_sentencepiece(read(path), path);
}
std::shared_ptr<Tokenizer> open_tiktoken(const std::string& path) { return parse_tiktoken(read(path), path); }
std::shared_ptr<Tokenizer> open_tokenizer_json(const std::string& path) {
  return parse_tokenizer_json(read(path), path);
}

std::shared_ptr<Tokenizer> open_gguf_tokenizer(const std::string& path) {
  return gguf_tokenizer(GgufFile(path));
}

std::shared_ptr<Tokenizer> Tokenizer::open(const std::string& folder_or_file) {
  fs::path path = model_path(folder_or_file);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path folder = path;
    for (const char* file : {"tokenizer.json", "tokenizer.model"})
      if (fs::exists(folder / file, ignored)) {
        path = folder / file;
        break;
      }
    if (path == folder)
      throw_error(ErrorKind::Runtime,
                  fmt::format("'{}': no tokenizer here; looked for tokenizer.json and tokenizer.model",
                              folder_or_file));
  }
  if (path.extension() == ".json") return open_tokenizer_json(path);
  if (is_gguf(path)) return open_gguf_tokenizer(path);
  const std::string bytes = read(path);
  return is_tiktoken(bytes) ? parse_tiktoken(bytes, path) : parse_sentencepiece(bytes, path);
}

std::vector<std::string> Tokenizer::special_texts() const {
  std::vector<std::string> texts;
  for (int64_t id = 0; id < vocab_size(); ++id)
    if (has_token(id) && is_special(id)) texts.push_back(token_bytes(id));
  return texts;
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string bytes;
  bool is_first = strips_first_space();
  for (const int64_t id : ids) {
    if (is_special(id) || id >= vocab_size()) continue;
    std::string token = token_bytes(id);
    if (is_first && token.starts_with(' ')) token.erase(0, 1);
    is_first = false;
    bytes += token;
  }
  return replace_invalid_utf8(bytes);
}

std::string StreamDecoder::push(int64_t id) {
  for (const auto& [token, text] : shown_)
    if (token == id) {
      is_first_ = false;
      return finish() + text;
    }
  if (tokenizer_->is_special(id) || id >= tokenizer_->vocab_size()) return "";
  std::string token = tokenizer_->token_bytes(id);
  if (is_first_ && tokenizer_->strips_first_space() && token.starts_with(' ')) token.erase(0, 1);
  is_first_ = false;
  held_ += token;
  const size_t whole = whole_characters(held_);
  const std::string text = replace_invalid_utf8(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return text;
}

std::string StreamDecoder::finish() {
  const std::string text = replace_invalid_utf8(held_);
  held_.clear();
  return text;
}

}  // namespace weft::models
