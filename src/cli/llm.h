// The subcommands for language models.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/causal_model.h"
#include "weft/models/chat.h"

namespace weft::cli {

// A file's text. RuntimeError where it cannot be read, ValueError where it is not UTF-8.
std::string read_text(const std::string& path);

// What every command that loads a model takes.
struct ModelArguments {
  std::string folder, dtype, quantize, cache_dtype, activations, device = "cpu";
  int64_t max_positions = 0;
  int threads = 0, tensor_parallel = 0;  // 0: as many ranks as there are
  bool compile = true;
  void add_to(CLI::App* command);
  // What of it says how weights and keys are kept, and the threads.
  void add_weights_to(CLI::App* command);
  void add_device_to(CLI::App* command);
  // Where the model is. RuntimeError where this machine has no such device.
  Device device_of_model() const;
  // With progress on a terminal.
  std::shared_ptr<const models::CausalModel> load() const;
  models::ModelOptions options() const;
};

CLI::Validator chat_template_name();  // of --chat-template
// The one asked for by name or file, or the model's own.
std::shared_ptr<const models::ChatTemplate> chat_template_of(
    const std::string& folder, const std::string& name, const models::CausalModel& model,
    const std::shared_ptr<const models::Tokenizer>& tokenizer);

struct GenerateArguments {
  ModelArguments model;
  std::optional<std::string> prompt;  // neither it nor a file: standard input
  std::string prompt_file, chat_template, draft_model, draft, profile, system;
  std::vector<std::string> stop;
  bool special = false, chat = false, interactive = false, ignore_eos = false, json = false;
  int64_t max_new_tokens = 256, top_k = 0, speculate_k = 4;
  double temperature = 0.0, top_p = 1.0, min_p = 0.0, repetition_penalty = 1.0;
  uint64_t seed = 0;
};
int generate(const GenerateArguments& arguments);

struct QuantizeArguments {
  std::string input, output, scheme, calibration;  // scheme "": int8, or q8_0 of a GGUF file
  bool gptq = false;
  int64_t calibration_tokens = 16384;
  int threads = 0;
};
int quantize(const QuantizeArguments& arguments);

struct PerplexityArguments {
  ModelArguments model;
  std::string text;
  int64_t context = 0, stride = 0;
  bool json = false;
};
int perplexity(const PerplexityArguments& arguments);

struct BenchLlmArguments {
  ModelArguments model;
  std::string shape, format = "md", draft_shape;
  bool random_weights = false, ladder = false;
  std::vector<int64_t> prompt_sizes = {512}, generate_sizes = {128};
  int64_t depth = 0;
  int repetitions = 5, layers = 0;
  std::vector<std::string> schemes, llama_cpp;  // the latter: directories of builds
  uint64_t seed = 0;
};
int bench_llm(const BenchLlmArguments& arguments);

// generate, quantize, eval and bench llm as one thing to add to the command, and to run when one of them was
// asked for.
class ModelCommands {
 public:
  ModelCommands(CLI::App& app, CLI::App& bench);
  bool is_asked() const;
  int run() const;

 private:
  GenerateArguments generate_;
  QuantizeArguments quantize_;
  PerplexityArguments perplexity_;
  BenchLlmArguments bench_;
  CLI::App *generate_command_, *quantize_command_, *perplexity_command_, *bench_command_;
};

}  // namespace weft::cli
