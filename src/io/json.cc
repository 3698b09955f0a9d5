#include "io/json.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "core/printable.h"
#include "runtime/files.h"
#include "weft/error.h"

namespace weft {

namespace {

// Json::parse with a callback looks through all elements of a list behind each of them; this builds the value directly.
template <class Document>
class CheckedJson : public nlohmann::detail::json_sax_dom_parser<Document> {
  using Base = nlohmann::detail::json_sax_dom_parser<Document>;

 public:
  CheckedJson(Document& result, const std::string& what) : Base(result, true), what_(what) {}

  bool start_object(size_t size) {
    enter();
    return Base::start_object(size);
  }
  bool end_object() {
    keys_.pop_back();
    return Base::end_object();
  }
  bool start_array(size_t size) {
    enter();
    return Base::start_array(size);
  }
  bool end_array() {
    keys_.pop_back();
    return Base::end_array();
  }
  bool key(std::string& name) {
    WEFT_CHECK(keys_.back().insert(name).second,
               fmt::format("{}: the key '{}' is there twice", what_, printable(name)));
    // Each key is looked for among those before it.
    if constexpr (std::is_same_v<Document, OrderedJson>)
      WEFT_CHECK(keys_.back().size() <= kMostOrderedKeys,
                 fmt::format("{}: an object has more than {} keys", what_, kMostOrderedKeys));
    return Base::key(name);
  }

 private:
  static constexpr size_t kMaxDepth = 64, kMostOrderedKeys = 1024;
  void enter() {
    WEFT_CHECK(keys_.size() < kMaxDepth, fmt::format("{}: JSON nested deeper than {}", what_, kMaxDepth));
    keys_.emplace_back();
  }

  const std::string& what_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects and lists around
};

template <class Document>
Document parse_document(std::string_view text, const std::string& what) {
  Document result;
  CheckedJson<Document> builder(result, what);
  try {
    Document::sax_parse(text, &builder);
    return result;
  } catch (const typename Document::exception& error) {
    throw_error(ErrorKind::Value, fmt::format("{}: not valid JSON: {}", what, printable(error.what())));
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& what) { return parse_document<Json>(text, what); }
OrderedJson parse_ordered_json(std::string_view text, const std::string& what) {
  return parse_document<OrderedJson>(text, what);
}

Json read_json(const std::string& path) {
  constexpr off_t kMaxBytes = off_t{1} << 30;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxBytes)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': not a JSON file of less than 1 GB", path));
  const std::optional<std::string> text = runtime::read_file(path);
  if (!text)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': cannot be read: {}", path, std::strerror(errno)));
  runtime::check_no_lfs_pointer(*text, fmt::format("'{}'", path));
  return parse_json(*text, fmt::format("'{}'", path));
}

}  // namespace weft
