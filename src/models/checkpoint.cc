#include "models/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "core/printable.h"
#include "io/json.h"
#include "io/pickle.h"
#include "models/families/family.h"
#include "models/gguf_model.h"
#include "models/hub_cache.h"
#include "models/hub_weights.h"
#include "models/tensor_names.h"
#include "models/text_part.h"
#include "models/weight_source.h"
#include "weft/error.h"
#include "weft/models/safetensors.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

void check_shape(const std::string& file, const std::string& name, const Shape& got, const Shape& expected) {
  WEFT_CHECK(got == expected, fmt::format("'{}': tensor '{}' has shape {}, the configuration expects {}",
                                          file, printable(name), str(got), str(expected)));
}

[[noreturn]] void missing(const std::string& folder, const std::string& name) {
  throw_error(ErrorKind::Value, fmt::format("'{}': the checkpoint has no tensor '{}'", folder, name));
}

// Files named by an index: "weight_map" from tensor to file.
std::set<std::string> shards_of(const std::string& folder, const std::string& index_path,
                                std::map<std::string, std::string>& file_of) {
  const Json index = read_json(index_path);
  WEFT_CHECK(index.is_object() && index.contains("weight_map") && index["weight_map"].is_object(),
             fmt::format("'{}': no 'weight_map'", index_path));
  std::set<std::string> files;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    WEFT_CHECK(file.is_string() && !file.get_ref<const std::string&>().empty(),
               fmt::format("'{}': the file of '{}' is not a text", index_path, printable(tensor)));
    const std::string name = file.get<std::string>();
    WEFT_CHECK(fs::path(name).filename() == fs::path(name),
               fmt::format("'{}': shard '{}' is not in the same folder", index_path, printable(name)));
    file_of[tensor] = name;
    files.insert(name);
  }
  for (const std::string& file : files)
    WEFT_CHECK(fs::exists(fs::path(folder) / file),
               fmt::format("'{}': the shard '{}' is missing", folder, printable(file)));
  return files;
}

void check_index(const std::string& folder, const std::string& tensor, const std::string& file,
                 bool is_there) {
  WEFT_CHECK(is_there, fmt::format("'{}': the index says that '{}' holds '{}', and it does not", folder,
                                   printable(file), printable(tensor)));
}

class SafetensorsCheckpoint : public Checkpoint {
 public:
  // `hub`: of weights that another program quantized; null where none did.
  SafetensorsCheckpoint(const std::string& folder, const DecoderConfig& config,
                        std::unique_ptr<HubWeights> hub)
      : folder_(folder), hub_(std::move(hub)) {
    config_ = config;
    const fs::path single = fs::path(folder) / "model.safetensors",
                   index = fs::path(folder) / "model.safetensors.index.json";
    if (fs::exists(index)) {
      std::map<std::string, std::string> file_of;
      std::map<std::string, std::shared_ptr<SafetensorsFile>> files;
      for (const std::string& file : shards_of(folder, index, file_of))
        files[file] = std::make_shared<SafetensorsFile>(fs::path(folder) / file);
      for (const auto& [name, file] : file_of) {
        check_index(folder, name, file, files[file]->has(name));
        add(name, files[file]);
      }
    } else {
      const auto file = std::make_shared<SafetensorsFile>(single);
      for (const std::string& name : file->names()) add(name, file);
      const auto scheme = file->metadata().find("weft.quantization");
      if (scheme != file->metadata().end()) quantization_ = QuantizationScheme::parse(scheme->second).name();
    }
    add_base();
    settle_head();
    settle_experts();
  }
  bool has(const std::string& name) const override { return file_of_.contains(name); }
  Tensor tensor(const std::string& name, const Shape& shape) const override {
    const auto found = file_of_.find(name);
    if (found == file_of_.end()) missing(folder_, name);
    const auto& [file, stored] = found->second;
    check_shape(file->path(), name, file->shape(stored), shape);
    return file->tensor(stored);
  }
  std::string file_of(const std::string& name) const override {
    return has(name) ? file_of_.at(name).file->path() : folder_;
  }
  std::optional<LinearWeight> quantized_rows(const MatrixName& matrix, int64_t rows,
                                             int64_t in) const override {
    if (!hub_) return std::nullopt;
    const HubTensors tensors{.where = folder_,
                             .has = [this](const std::string& name) { return has(name); },
                             .read =
                                 [this](const std::string& name) {
                                   const auto& [file, stored] = file_of_.at(name);
                                   return file->tensor(stored);
                                 }};
    return hub_->matrix(tensors, matrix, rows, in);
  }
  std::vector<std::string> suffixes() const override {
    return hub_ ? hub_->suffixes() : std::vector<std::string>();
  }
  std::string stored_as() const override { return hub_ ? hub_->name() : quantization_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const auto& item : file_of_) result.push_back(item.first);
    return result;
  }

 private:
  struct Place {
    std::shared_ptr<SafetensorsFile> file;
    std::string stored;  // the tensor's name there
  };
  void add(const std::string& stored, const std::shared_ptr<SafetensorsFile>& file) {
    if (const auto name = own_name(stored, folder_)) file_of_[*name] = {file, stored};
  }
  // Experts that lie on their side in the published files do not in those that newer programs write.
  void settle_experts() {
    for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
      if (!config_.layer(layer).has_experts) continue;
      // Qwen's lie in tensors of their own, or all in two.
      if (config_.names.expert_gate.name == "mlp.experts.{}.gate_proj" &&
          has(layer_prefix(config_.names, layer) + "mlp.experts.gate_up_proj"))
        stack_qwen_experts(config_);
      for (const auto& [role, matrix] : {std::pair{Role::ExpertGate, &config_.names.expert_gate},
                                         {Role::ExpertUp, &config_.names.expert_up},
                                         {Role::ExpertDown, &config_.names.expert_down}}) {
        if (matrix->count == 0 || !matrix->is_transposed) continue;
        const NamedMatrix named = named_matrix(config_, layer, role, 0);
        const auto found = file_of_.find(tensor_of(named.name));
        const int64_t rows = named.name.rows > 0 ? named.name.rows : named.out;
        if (rows == named.in || found == file_of_.end()) continue;
        if (found->second.file->shape(found->second.stored) == Shape{matrix->count, rows, named.in})
          matrix->is_transposed = false;
      }
      return;
    }
  }
  // A model that was saved without its head has names without what stands before them with one.
  void add_base() {
    const std::string embedding = config_.names.embedding + ".weight",
                      base = embedding.substr(0, embedding.find('.') + 1);
    if (has(embedding) || !has(embedding.substr(base.size()))) return;
    std::map<std::string, Place> named;
    for (const auto& [name, place] : file_of_) named[base + name] = place;
    file_of_ = std::move(named);
  }

  std::string folder_;
  std::unique_ptr<HubWeights> hub_;
  std::map<std::string, Place> file_of_;
};

// State dicts that torch.save wrote, each tensor whole in one of them or cut into equal parts.
class TorchCheckpoint : public Checkpoint {
 public:
  // `file_of`: where the index says that each tensor is; empty where there is none.
  TorchCheckpoint(std::string folder, const DecoderConfig& config, bool verify,
                  const std::vector<std::string>& files,
                  const std::map<std::string, std::string>& file_of = {})
      : folder_(std::move(folder)) {
    config_ = config;
    std::map<std::string, std::set<std::string>> held;
    for (const std::string& file : files) {
      const std::string path = fs::path(folder_) / file;
      const IValue value = jit::load_value(path, verify);
      WEFT_CHECK(value.is(IValue::Tag::Dict), fmt::format("'{}': not a state dict", path));
      for (const auto& [key, item] : value.to_dict()->items()) {
        if (!key.is_string() || !item.is_tensor()) continue;
        const std::string name = key.to_string();
        held[file].insert(name);
        if (const auto found = file_of.find(name); found != file_of.end() && found->second != file) continue;
        parts_[name].push_back(item.to_tensor());
        files_[name] = path;
      }
    }
    for (const auto& [name, file] : file_of) check_index(folder_, name, file, held[file].contains(name));
    rename([&](const std::string& name) { return own_name(name, folder_); });
    settle_head();
  }
  bool has(const std::string& name) const override { return parts_.contains(name); }
  Tensor tensor(const std::string& name, const Shape& shape) const override {
    const auto found = parts_.find(name);
    if (found == parts_.end()) missing(folder_, name);
    const std::vector<Tensor>& parts = found->second;
    if (parts[0].shape() == shape) {
      for (const Tensor& part : parts)
        WEFT_CHECK(is_same(part, parts[0]),
                   fmt::format("'{}': tensor '{}' is whole in {} shards, and not the same in all", folder_,
                               name, parts.size()));
      return parts[0];
    }
    for (size_t dim = 0; dim < shape.size() && parts[0].shape().size() == shape.size(); ++dim) {
      Shape whole = parts[0].shape();
      whole[dim] *= static_cast<int64_t>(parts.size());
      const bool equal = std::all_of(parts.begin(), parts.end(),
                                     [&](const Tensor& part) { return part.shape() == parts[0].shape(); });
      if (whole == shape && equal) return concatenate(parts, static_cast<int64_t>(dim));
    }
    const bool is_cut = parts.size() > 1;
    throw_error(ErrorKind::Value,
                fmt::format("'{}': tensor '{}' has shape {}{}, the configuration expects {}", file_of(name),
                            name, str(parts.back().shape()),
                            is_cut ? fmt::format(" as the last of {} parts", parts.size()) : "", str(shape)));
  }
  std::string file_of(const std::string& name) const override {
    const auto found = files_.find(name);
    return found == files_.end() ? folder_ : found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const auto& item : parts_) result.push_back(item.first);
    return result;
  }
  // Those for which there is no new name are left out.
  void rename(const std::function<std::optional<std::string>(const std::string&)>& new_name) {
    std::map<std::string, std::vector<Tensor>> renamed;
    std::map<std::string, std::string> files;
    for (auto& [name, parts] : parts_) {
      const auto own = new_name(name);
      if (!own) continue;
      renamed[*own] = std::move(parts);
      files[*own] = std::move(files_[name]);
    }
    parts_ = std::move(renamed);
    files_ = std::move(files);
  }
  void set_vocab_size() {
    const auto found = parts_.find("model.embed_tokens.weight");
    if (found == parts_.end()) missing(folder_, "tok_embeddings.weight");
    const Shape& shape = found->second[0].shape();
    if (config_.vocab_size <= 0 && shape.size() == 2)
      config_.vocab_size =
          shape[0] * (shape[1] == config_.hidden_size ? static_cast<int64_t>(found->second.size()) : 1);
    config_.tie_word_embeddings = !parts_.contains("lm_head.weight");
    config_.check(fmt::format("'{}'", (fs::path(folder_) / "params.json").string()), true);
  }

 private:
  static bool is_same(const Tensor& a, const Tensor& b) {
    if (a.impl() == b.impl()) return true;
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    const Tensor x = a.contiguous(), y = b.contiguous();
    return x.numel() == 0 ||
           std::memcmp(x.data(), y.data(), static_cast<size_t>(x.numel() * itemsize(x.dtype()))) == 0;
  }

  std::string folder_;
  std::map<std::string, std::vector<Tensor>> parts_;
  std::map<std::string, std::string> files_;  // the last file of each, for messages
};

// Meta's name to Hugging Face's.
std::string renamed(const std::string& name) {
  static const auto& whole =
      *new std::map<std::string, std::string>{{"tok_embeddings.weight", "model.embed_tokens.weight"},
                                              {"norm.weight", "model.norm.weight"},
                                              {"output.weight", "lm_head.weight"}};
  static const auto& of_layer = *new std::map<std::string, std::string>{
      {"attention.wq.", "self_attn.q_proj."},    {"attention.wk.", "self_attn.k_proj."},
      {"attention.wv.", "self_attn.v_proj."},    {"attention.wo.", "self_attn.o_proj."},
      {"feed_forward.w1.", "mlp.gate_proj."},    {"feed_forward.w3.", "mlp.up_proj."},
      {"feed_forward.w2.", "mlp.down_proj."},    {"attention_norm.", "input_layernorm."},
      {"ffn_norm.", "post_attention_layernorm."}};
  if (const auto found = whole.find(name); found != whole.end()) return found->second;
  const size_t number = std::strlen("layers."), end = name.find('.', number);
  if (!name.starts_with("layers.") || end == std::string::npos) return name;
  for (const auto& [from, to] : of_layer)
    if (name.compare(end + 1, from.size(), from) == 0)
      return fmt::format("model.{}{}{}", name.substr(0, end + 1), to, name.substr(end + 1 + from.size()));
  return name;
}

std::vector<std::string> consolidated_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("consolidated.") && name.ends_with(".pth")) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size(); ++i)
    WEFT_CHECK(files[i] == fmt::format("consolidated.{:02}.pth", i) || files.size() == 1,
               fmt::format("'{}': the shard 'consolidated.{:02}.pth' is missing", folder, i));
  return files;
}

}  // namespace

std::optional<std::string> Checkpoint::own_name(const std::string& stored, const std::string& folder) {
  if (config_.part_of.empty()) return stored;
  auto name = name_in_text_part(stored, folder);
  if (!name) passed_over_.push_back(stored);
  return name;
}

void Checkpoint::settle_head() {
  if (!config_.part_of.empty()) config_.tie_word_embeddings = !has(config_.names.head + ".weight");
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& folder_or_name, bool verify) {
  const std::string folder = model_path(folder_or_name);
  const fs::path root = folder;
  std::error_code ignored;
  if (fs::is_regular_file(root, ignored) && is_gguf(folder)) {
    WEFT_CHECK(!verify,
               fmt::format("'{}': GGUF files hold no checksums, so that nothing can be verified", folder));
    return gguf_checkpoint(folder);
  }
  if (!fs::is_directory(root, ignored))
    throw_error(ErrorKind::Runtime, fmt::format("'{}': not a folder, and no GGUF file", folder));
  if (fs::exists(root / "config.json")) {
    DecoderConfig config = read_config_json(root / "config.json");
    if (fs::exists(root / "generation_config.json"))
      read_generation_config(root / "generation_config.json", config);
    const Json json = read_json(root / "config.json");
    const auto quantization = json.find("quantization_config");
    std::unique_ptr<HubWeights> hub;
    if (quantization != json.end() && !quantization->is_null() && !quantization->empty())
      hub = HubWeights::make(*quantization, fmt::format("'{}'", (root / "config.json").string()));
    if (fs::exists(root / "model.safetensors") || fs::exists(root / "model.safetensors.index.json")) {
      WEFT_CHECK(
          !verify,
          fmt::format("'{}': safetensors files hold no checksums, so that nothing can be verified", folder));
      return std::make_unique<SafetensorsCheckpoint>(folder, config, std::move(hub));
    }
    WEFT_CHECK(!hub,
               fmt::format("'{}': quantized checkpoints are read from safetensors files, and there are none",
                           folder));
    if (fs::exists(root / "pytorch_model.bin.index.json")) {
      std::map<std::string, std::string> file_of;
      const std::set<std::string> files = shards_of(folder, root / "pytorch_model.bin.index.json", file_of);
      return std::make_unique<TorchCheckpoint>(folder, config, verify,
                                               std::vector<std::string>(files.begin(), files.end()), file_of);
    }
    if (fs::exists(root / "pytorch_model.bin"))
      return std::make_unique<TorchCheckpoint>(folder, config, verify,
                                               std::vector<std::string>{"pytorch_model.bin"});
  }
  if (fs::exists(root / "params.json")) {
    const std::vector<std::string> files = consolidated_files(folder);
    if (!files.empty()) {
      auto checkpoint =
          std::make_unique<TorchCheckpoint>(folder, read_params_json(root / "params.json"), verify, files);
      checkpoint->rename(renamed);
      checkpoint->set_vocab_size();
      return checkpoint;
    }
  }
  throw_error(
      ErrorKind::Runtime,
      fmt::format(
          "'{}': no model here; looked for config.json with model.safetensors, model.safetensors.index.json, "
          "pytorch_model.bin or pytorch_model.bin.index.json, and for params.json with consolidated.00.pth",
          folder));
}

}  // namespace weft::models
