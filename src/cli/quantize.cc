#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "cli/llm.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "models/checkpoint.h"
#include "models/gguf.h"
#include "models/gguf_writer.h"
#include "models/gptq.h"
#include "models/tensor_names.h"
#include "models/weight_source.h"
#include "runtime/mapped_file.h"
#include "weft/error.h"
#include "weft/models/safetensors.h"
#include "weft/models/tokenizer.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using namespace models;

// sqrt(sum (w - w')² / sum w²)
double relative_error(const Tensor& weight, const LinearWeight& quantized) {
  const Tensor exact = weight.to(DType::F32).contiguous(), back = dequantize(quantized).contiguous();
  double difference = 0, size = 0;
  const float *a = exact.data_as<float>(), *b = back.data_as<float>();
  for (int64_t i = 0; i < exact.numel(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += static_cast<double>(a[i]) * a[i];
  }
  return size > 0 ? std::sqrt(difference / size) : 0.0;
}

double bytes_of(const Tensor& tensor) {
  return static_cast<double>(tensor.numel() * itemsize(tensor.dtype()));
}

using Json = nlohmann::ordered_json;

// config.json in Hugging Face's words, of a model that has Meta's.
Json config_of(const DecoderConfig& config) {
  Json scaling;
  const Rope& rope = config.ropes[0];
  if (rope.scaling == RopeScaling::Llama3)
    scaling = {{"rope_type", "llama3"},
               {"factor", rope.factor},
               {"low_freq_factor", rope.low_freq_factor},
               {"high_freq_factor", rope.high_freq_factor},
               {"original_max_position_embeddings", rope.original_positions}};
  const auto or_null = [](const std::optional<int64_t>& number) { return number ? Json(*number) : Json(); };
  Json json = {{"model_type", config.model_type},
               {"hidden_act", "silu"},
               {"vocab_size", config.vocab_size},
               {"hidden_size", config.hidden_size},
               {"intermediate_size", config.intermediate_size},
               {"num_hidden_layers", config.num_layers},
               {"num_attention_heads", config.num_heads},
               {"num_key_value_heads", config.num_kv_heads},
               {"head_dim", config.head_dim},
               {"max_position_embeddings", config.max_position_embeddings},
               {"rms_norm_eps", config.norm_eps},
               {"rope_theta", rope.theta},
               {"rope_scaling", scaling},
               {"rope_interleaved", rope.interleaved},
               {"tie_word_embeddings", config.tie_word_embeddings},
               {"bos_token_id", or_null(config.bos_token_id)},
               {"eos_token_id", config.eos_token_ids},
               {"torch_dtype", config.torch_dtype}};
  return json;
}

// The folder's own words where it has them, so that the written folder stands for itself.
std::string config_text(const std::string& input, const DecoderConfig& config,
                        const QuantizationScheme& scheme) {
  const fs::path own = fs::path(input) / "config.json";
  std::error_code error;
  Json json = fs::exists(own, error) ? Json::parse(read_text(own)) : config_of(config);
  json["quantization"] = scheme.name();
  return json.dump(2) + "\n";
}

// The calibration text in pieces that fit into the context, each with the beginning token.
std::vector<std::vector<int64_t>> calibration_ids(const QuantizeArguments& arguments,
                                                  const DecoderConfig& config) {
  constexpr int64_t kLongest = 512;
  const auto tokenizer = Tokenizer::open(arguments.input);
  std::vector<int64_t> ids = tokenizer->encode(read_text(arguments.calibration), false);
  ids.resize(std::min<size_t>(ids.size(), static_cast<size_t>(arguments.calibration_tokens)));
  WEFT_CHECK(!ids.empty(), fmt::format("'{}': no text to calibrate with", arguments.calibration));
  const auto length =
      static_cast<size_t>(std::clamp<int64_t>(config.max_position_embeddings / 2, 1, kLongest));
  std::vector<std::vector<int64_t>> pieces;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % length == 0) {
      pieces.emplace_back();
      if (const auto bos = tokenizer->bos_id()) pieces.back().push_back(*bos);
    }
    pieces.back().push_back(ids[i]);
  }
  return pieces;
}

int quantize_to_gguf(const QuantizeArguments& arguments) {
  if (arguments.gptq || !arguments.calibration.empty())
    throw UsageError("quantize: --gptq is for weft's own folders, not for GGUF files (weft quantize --help)");
  if (arguments.threads > 0) set_num_threads(arguments.threads);
  std::error_code error;
  WEFT_CHECK(!fs::exists(arguments.output, error), fmt::format("'{}': is there already", arguments.output));
  Progress progress("writing layer");
  write_gguf(arguments.input, Checkpoint::open(arguments.input),
             arguments.scheme.empty() ? "q8_0" : arguments.scheme, arguments.output,
             [&](int64_t done, int64_t all) { progress.update(done, all); });
  fmt::print("{} {}\n", arguments.output, bytes_text(static_cast<double>(fs::file_size(arguments.output))));
  return 0;
}

struct Layer {
  double error = 0, before = 0, after = 0;
  int count = 0;
};

}  // namespace

int quantize(const QuantizeArguments& arguments) {
  WEFT_CHECK(!is_gguf(arguments.input),
             fmt::format("'{}': weft quantize reads folders, and this is a GGUF file", arguments.input));
  if (arguments.output.ends_with(".gguf")) return quantize_to_gguf(arguments);
  const QuantizationScheme scheme =
      QuantizationScheme::parse(arguments.scheme.empty() ? "int8" : arguments.scheme);
  if (arguments.gptq == arguments.calibration.empty())
    throw UsageError("quantize: --gptq and --calibration go together (weft quantize --help)");
  if (arguments.gptq && scheme.kind != QuantizationScheme::Kind::Int4)
    throw UsageError(
        fmt::format("quantize: --gptq is for int4 schemes, got '{}' (weft quantize --help)", scheme.name()));
  if (arguments.threads > 0) set_num_threads(arguments.threads);
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(arguments.input);
  WEFT_CHECK(checkpoint->quantization() == "none",
             fmt::format("'{}': already quantized as {}", arguments.input, checkpoint->quantization()));
  const DecoderConfig& config = checkpoint->config();
  scheme.check(config);
  const fs::path output = arguments.output;
  std::error_code error;
  WEFT_CHECK(!fs::exists(output, error) || (fs::is_directory(output, error) && fs::is_empty(output, error)),
             fmt::format("'{}': is there already and not an empty folder", arguments.output));
  std::optional<Gptq> gptq;
  if (arguments.gptq) gptq.emplace(checkpoint, scheme, calibration_ids(arguments, config));
  std::map<std::string, GptqWeight> calibrated;  // of the layer at hand, with --gptq
  std::map<std::string, Tensor> tensors;
  double before = 0, after = 0;
  const auto keep = [&](const std::string& name, const Tensor& tensor) {
    tensors[name] = tensor;
    after += bytes_of(tensor);
  };
  const auto copy = [&](const std::string& name, const Shape& shape) {
    const Tensor tensor = checkpoint->tensor(name, shape);
    before += bytes_of(tensor);
    keep(name, tensor);
  };
  const auto convert = [&](const std::string& source, const std::string& name, int64_t out, int64_t in,
                           Layer& layer) {
    const Tensor weight = checkpoint->tensor(source, {out, in});
    const auto found = calibrated.find(name);
    const LinearWeight quantized =
        found == calibrated.end() ? models::quantize(weight, scheme) : found->second.weight;
    layer.error += found == calibrated.end() ? relative_error(weight, quantized) : found->second.output_error;
    ++layer.count;
    layer.before += bytes_of(weight);
    keep(name + ".weight", quantized.weight);
    keep(name + ".scales", quantized.scales);
    layer.after += bytes_of(quantized.weight) + bytes_of(quantized.scales);
  };
  Progress progress("quantizing layer");
  progress.print(fmt::format("layer      before       after      relative error{}\n",
                             arguments.gptq ? " of outputs" : ""));
  const auto report = [&](const std::string& name, const Layer& layer) {
    before += layer.before;
    progress.print(fmt::format("{:<6} {:>10}  {:>10}      {:.5f}\n", name, bytes_text(layer.before),
                               bytes_text(layer.after), layer.error / layer.count));
  };
  for (int64_t i = 0; i < config.num_layers; ++i) {
    progress.update(i, config.num_layers);
    Layer layer;
    if (gptq) calibrated = gptq->next_layer();
    std::set<std::string> done;  // of tensors that hold several matrices
    for_each_matrix(config, i, [&](const NamedMatrix& matrix) {
      const MatrixName& name = matrix.name;
      WEFT_CHECK(
          !name.is_transposed && !name.is_bare && name.count == 0,
          fmt::format(
              "quantize: '{}' has matrices that lie on their side, or several in '{}', which weft does "
              "not write; load the model with --quantize",
              config.model_type, tensor_of(name)));
      if (!done.insert(name.name).second) return;
      const int64_t rows = name.rows > 0 ? name.rows : matrix.out;
      if (name.is_exact)
        copy(tensor_of(name), {rows, matrix.in});
      else
        convert(tensor_of(name), name.name, rows, matrix.in, layer);
      if (matrix.has_bias) copy(name.name + ".bias", {rows});
    });
    for_each_vector(config, i, copy);
    report(std::to_string(i), layer);
  }
  const TensorNames& names = config.names;
  if (config.norm_has_weights) copy(names.final_norm + ".weight", {config.hidden_size});
  if (config.norm_bias) copy(names.final_norm + ".bias", {config.hidden_size});
  copy(names.embedding + ".weight", {config.vocab_size, config.hidden_size});
  if (config.has_learned_positions)
    copy(names.positions + ".weight", {config.position_rows(), config.hidden_size});
  if (config.head_bias) copy(names.head + ".bias", {config.vocab_size});
  Layer head;
  if (gptq) calibrated = {{names.head, gptq->head()}};
  convert((config.tie_word_embeddings ? names.embedding : names.head) + ".weight", names.head,
          config.vocab_size, config.hidden_size, head);
  if (config.tie_word_embeddings) head.before = 0;
  report("head", head);

  fs::create_directories(output, error);
  if (error) throw_error(ErrorKind::Runtime, fmt::format("'{}': {}", arguments.output, error.message()));
  save_safetensors(output / "model.safetensors", tensors,
                   {{"weft.quantization", scheme.name()}, {"format", "pt"}});
  runtime::OutputFile file(output / "config.json", "configuration");
  file.write(config_text(arguments.input, config, scheme));
  file.commit();
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "generation_config.json"})
    if (fs::exists(fs::path(arguments.input) / name, error))
      fs::copy_file(fs::path(arguments.input) / name, output / name, error);
  fmt::print("\n{} -> {} ({:.2f} times smaller), {}\n", bytes_text(before), bytes_text(after), before / after,
             (output / "model.safetensors").string());
  return 0;
}

}  // namespace weft::cli
