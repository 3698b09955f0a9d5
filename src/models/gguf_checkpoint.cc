#include <fmt/format.h>

#include <map>
#include <set>

#include "core/printable.h"
#include "models/gguf_model.h"
#include "models/weight_source.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

class GgufCheckpoint : public Checkpoint {
 public:
  explicit GgufCheckpoint(const std::string& path) : file_(path) {
    config_ = gguf_config(file_);
    std::erase_if(names_ = file_.names(), [&](const std::string& name) {
      const std::string joined = joined_name(name);
      if (!joined.empty() && !file_.has(joined)) joined_.insert(joined);
      return !joined.empty() && joined_.contains(joined);
    });
    names_.insert(names_.end(), joined_.begin(), joined_.end());
  }

  bool has(const std::string& name) const override { return file_.has(name) || joined_.contains(name); }
  Tensor tensor(const std::string& name, const Shape& shape) const override {
    if (joined_.contains(name)) return joined(name, shape);
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
  std::vector<std::string> names() const override { return names_; }
  bool has_own_dtypes() const override { return true; }
  std::string stored_as() const override {
    std::map<std::string, int64_t> counts;
    for (const std::string& name : file_.names())
      if (file_.shape(name).size() > 1) ++counts[type_of(name)];
    std::string text;
    for (const auto& [type, count] : counts)
      text += fmt::format("{}{} ({} tensors)", text.empty() ? "GGUF, " : ", ", type, count);
    return text;
  }

 private:
  // Latent attention's keys and values of heads may lie apart, the keys on their side: what both are
  // together.
  static constexpr const char *kKeys = "attn_k_b.weight", *kValues = "attn_v_b.weight",
                              *kBoth = "attn_kv_b.weight";
  static std::string joined_name(const std::string& name) {
    for (const char* part : {kKeys, kValues})
      if (name.ends_with(part)) return name.substr(0, name.size() - std::string(part).size()) + kBoth;
    return "";
  }
  Tensor joined(const std::string& name, const Shape& shape) const {
    WEFT_ASSERT(config_.latent, "keys and values of heads without latent attention");
    const LatentAttention& latent = *config_.latent;
    const std::string prefix = name.substr(0, name.size() - std::string(kBoth).size());
    const auto part = [&](const char* own, const Shape& of_part) {
      check(prefix + own, of_part);
      const Tensor tensor = reshape(file_.tensor(prefix + own), of_part);
      return file_.blocks(prefix + own) == BlockFormat::None ? tensor : tensor.to(DType::F16);
    };
    const Tensor keys = part(kKeys, {config_.num_heads, latent.rank, latent.plain_dim}),
                 values = part(kValues, {config_.num_heads, latent.value_dim, latent.rank});
    return reshape(concatenate({transpose(keys, 1, 2), values.to(keys.dtype())}, 1), shape);
  }
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
  std::vector<std::string> names_;
  std::set<std::string> joined_;
};

}  // namespace

std::unique_ptr<Checkpoint> gguf_checkpoint(const std::string& path) {
  return std::make_unique<GgufCheckpoint>(path);
}

}  // namespace weft::models
