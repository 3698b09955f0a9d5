#include <fmt/format.h>

#include <map>

#include "core/printable.h"
#include "models/gguf_model.h"
#include "models/weight_source.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

class GgufCheckpoint : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::string& path) : file_(path) { config_ = gguf_config(file_); }

  bool has(const std::string& name) const override { return file_.has(name); }
  Tensor tensor(const std::string& name, const Shape& shape) const override {
    check(name, shape);
    return reshape(file_.tensor(name), shape);
  }
  std::optional<BlockRows> blocks(const std::string& name, const Shape& shape) const override {
    if (!file_.has(name) || file_.blocks(name) == BlockFormat::None) return std::nullopt;
    check(name, shape);
    return BlockRows{file_.stored(name), file_.blocks(name)};
  }
  std::optional<LinearWeight> quantized_rows(const MatrixName& matrix, int64_t rows,
                                             int64_t in) const override {
    const auto found =
        blocks(tensor_of(matrix), matrix.count > 0 ? Shape{matrix.count, rows, in} : Shape{rows, in});
    if (!found) return std::nullopt;
    return LinearWeight{.weight = matrix.count > 0 ? select(found->rows, 0, matrix.index) : found->rows,
                        .blocks = found->format};
  }
  std::string file_of(const std::string&) const override { return file_.path(); }
  std::vector<std::string> names() const override { return file_.names(); }
  bool has_own_dtypes() const override { return true; }
  std::string stored_as() const override {
    std::map<std::string, int64_t> counts;
    for (const std::string& name : names())
      if (file_.shape(name).size() > 1) ++counts[type_of(name)];
    std::string text;
    for (const auto& [type, count] : counts)
      text += fmt::format("{}{} ({} tensors)", text.empty() ? "GGUF, " : ", ", type, count);
    return text;
  }

 private:
  std::string type_of(const std::string& name) const {
    const BlockFormat blocks = file_.blocks(name);
    return blocks == BlockFormat::None ? std::string(weft::name(file_.dtype(name))) : block_size(blocks).name;
  }
  // Sizes of one are nothing to these files.
  static Shape without_ones(const Shape& shape) {
    Shape result;
    for (const int64_t size : shape)
      if (size != 1) result.push_back(size);
    return result;
  }
  void check(const std::string& name, const Shape& shape) const {
    WEFT_CHECK(file_.has(name), fmt::format("'{}': the checkpoint has no tensor '{}'", file_.path(), name));
    const Shape& own = file_.shape(name);
    WEFT_CHECK(without_ones(own) == without_ones(shape),
               fmt::format("'{}': tensor '{}' has shape {}, the metadata expects {}", file_.path(),
                           printable(name), str(own), str(shape)));
  }

  GgufFile file_;
};

}  // namespace

std::unique_ptr<Checkpoint> gguf_checkpoint(const std::string& path) {
  return std::make_unique<GgufCheckpoint>(path);
}

}  // namespace weft::models
