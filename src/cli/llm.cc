#include "cli/llm.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/usage.h"
#include "models/chat_built_in.h"
#include "models/gguf_writer.h"
#include "runtime/files.h"
#include "weft/error.h"
#include "weft/models/tokenizer.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 24, kMostBenchTokens = int64_t{1} << 20;

std::vector<std::string> schemes_and(const std::vector<std::string>& others) {
  std::vector<std::string> names = quantization_schemes();
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

}  // namespace

std::string read_text(const std::string& path) {
  const std::optional<std::string> text = runtime::read_file(path);
  if (!text)
    throw_error(ErrorKind::Runtime, fmt::format("'{}': cannot be read: {}", path, std::strerror(errno)));
  WEFT_CHECK(models::is_utf8(*text), fmt::format("'{}': not valid UTF-8", path));
  return *text;
}

void ModelArguments::add_weights_to(CLI::App* command) {
  command
      ->add_option("--dtype", dtype,
                   "Of the weights: float32, bfloat16 or float16 (default: the checkpoint's)")
      ->check(one_of(weight_dtypes()));
  command
      ->add_option("--quantize", quantize,
                   "Quantize while loading: int8, int4-g32, int4-g64, int4-g128, int4-g256")
      ->check(one_of(schemes_and({"none"})));
  command
      ->add_option("--cache-dtype", cache_dtype,
                   "Of the KV cache: float32, bfloat16, float16 or int8 (default: the weights')")
      ->check(one_of(cache_dtypes()));
  command->add_option("--threads", threads, "Number of threads (default: all cores)")
      ->check(integer_in(1, 1024));
}

void ModelArguments::add_device_to(CLI::App* command) {
  command->add_option("--device", device, "Where to compute: cpu (default), cuda or cuda:1")
      ->check(not_empty());
}

Device ModelArguments::device_of_model() const {
  const Device result = Device::parse(device);
  WEFT_CHECK(result.type != DeviceType::Meta, "--device: expected cpu, cuda or cuda:1, got meta");
  require_available(result);
  return result;
}

void ModelArguments::add_to(CLI::App* command) {
  add_weights_to(command);
  add_device_to(command);
  command
      ->add_option("--activations", activations,
                   "Inputs of products with quantized weights: auto, float32, int16 or int8 (fastest prefill); with "
                   "bfloat16 weights, for more than 16 rows: auto or bfloat16 (rounded to it) or float32 (exact)")
      ->check(one_of({"auto", "float32", "int16", "int8", "bfloat16"}));
  command
      ->add_option("--max-positions", max_positions, "Context in tokens (default: the model's, at most 8192)")
      ->check(integer_in(1, kMostTokens));
  command
      ->add_option("--tensor-parallel", tensor_parallel,
                   "Processes that share the model (default: as many as mpirun started)")
      ->check(integer_in(1, 4096));
  command->add_flag("--compile,!--no-compile", compile,
                    "Steps as prepared call lists (default), or function by function");
}

models::ModelOptions ModelArguments::options() const {
  return {.dtype = dtype,
          .quantize = quantize,
          .activations = activations,
          .cache_dtype = cache_dtype,
          .max_positions = max_positions,
          .execution = compile ? models::Execution::Compiled : models::Execution::Static,
          .tensor_parallel = start_ranks(tensor_parallel),
          .device = device_of_model()};
}

CLI::Validator chat_template_name() {
  return one_of_or_file(models::built_in_template_names(), "a file with a template");
}

std::shared_ptr<const models::ChatTemplate> chat_template_of(
    const std::string& folder, const std::string& name, const models::CausalModel& model,
    const std::shared_ptr<const models::Tokenizer>& tokenizer) {
  return name.empty() ? models::ChatTemplate::open(folder, tokenizer, model.config().model_type)
                      : models::ChatTemplate::named(name, tokenizer);
}

std::shared_ptr<const models::CausalModel> ModelArguments::load() const {
  if (threads > 0) set_num_threads(threads);
  models::ModelOptions loading = options();
  Progress progress("loading layer");
  loading.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  return models::CausalModel::from_pretrained(folder, loading);
}

ModelCommands::ModelCommands(CLI::App& app, CLI::App& bench) {
  generate_command_ = app.add_subcommand("generate", "Write text with a language model");
  CLI::App* generate = generate_command_;
  generate
      ->add_option(
          "--model,-m", generate_.model.folder,
          "Model folder: Hugging Face's or Meta's files, or what weft quantize wrote; or a GGUF file")
      ->required();
  generate->add_option("--prompt,-p", generate_.prompt,
                       "What the text begins with (default: standard input)");
  generate->add_option("--prompt-file", generate_.prompt_file, "A file with the prompt");
  generate->add_flag("--special", generate_.special,
                     "Special tokens written in the prompt (<|im_start|>) are tokens, not text");
  generate
      ->add_option("--max-new-tokens,-n", generate_.max_new_tokens, "At most so many tokens (default: 256)")
      ->check(integer_in(0, kMostTokens));
  generate->add_option("--temperature", generate_.temperature, "0 takes the most likely token (default)")
      ->check(number_from(0));
  generate->add_option("--top-k", generate_.top_k, "Only the k most likely tokens")
      ->check(integer_in(0, INT64_MAX));
  generate
      ->add_option("--top-p", generate_.top_p,
                   "Only the most likely tokens that together have this probability")
      ->check(number_in(0, Bound::Open, 1));
  generate
      ->add_option("--min-p", generate_.min_p,
                   "Only tokens with this share of the most likely one's probability")
      ->check(number_in(0, Bound::Closed, 1));
  generate
      ->add_option("--repetition-penalty", generate_.repetition_penalty,
                   "Above 1: tokens of the text so far become less likely")
      ->check(number_from(0, Bound::Open));
  generate->add_option("--seed", generate_.seed, "Of the random numbers (default: 0)")->check(seed());
  generate->add_option("--stop", generate_.stop, "End before this text (may be given several times)")
      ->check(not_empty());
  generate->add_flag("--ignore-eos", generate_.ignore_eos, "Go on after an end token");
  generate->add_flag("--chat", generate_.chat,
                     "The prompt is a message; the model's chat template goes around it");
  generate->add_flag("--interactive,-i", generate_.interactive,
                     "A conversation: messages line by line until the end (Ctrl-D); /new begins another");
  generate->add_option("--system", generate_.system, "The system message of a chat");
  generate
      ->add_option(
          "--chat-template", generate_.chat_template,
          "llama2, llama3, mistral, chatml, none, or a file with a Jinja template (default: the model's)")
      ->check(chat_template_name());
  generate->add_option("--draft-model", generate_.draft_model,
                       "Folder of a smaller model whose tokens the model checks several at a time");
  generate
      ->add_option("--draft", generate_.draft,
                   "'prompt-lookup': proposed tokens are looked up in the text so far")
      ->check(one_of({"prompt-lookup"}));
  generate
      ->add_option("--speculate-k", generate_.speculate_k, "Tokens proposed at a time, 1 to 7 (default: 4)")
      ->check(integer_in(1, 7));
  generate->add_option("--profile", generate_.profile, "Write a timeline that Perfetto opens");
  generate->add_flag("--json", generate_.json, "Print text and figures as JSON at the end");
  generate_.model.add_to(generate);

  quantize_command_ =
      app.add_subcommand("quantize", "Write a model's folder, or a GGUF file, with quantized weights");
  quantize_command_->add_option("input", quantize_.input, "Model folder")->required();
  quantize_command_->add_option("output", quantize_.output, "Folder to make, or a file NAME.gguf")
      ->required();
  quantize_command_
      ->add_option(
          "--scheme", quantize_.scheme,
          "int8, int4-g32, int4-g64, int4-g128 or int4-g256 (default: int8); of a GGUF file q8_0 (default), "
          "q4_0, bf16, f16 or f32")
      ->check(one_of(schemes_and(models::gguf_schemes())));
  quantize_command_->add_flag(
      "--gptq", quantize_.gptq,
      "Round int4 weights for the inputs that a text gives, error by error (slower, more exact)");
  quantize_command_->add_option("--calibration", quantize_.calibration, "A file with the text for --gptq");
  quantize_command_
      ->add_option("--calibration-tokens", quantize_.calibration_tokens,
                   "At most so many tokens of it (default: 16384)")
      ->check(integer_in(1, kMostTokens));
  quantize_command_->add_option("--threads", quantize_.threads, "Number of threads (default: all cores)")
      ->check(integer_in(1, 1024));

  CLI::App* eval = app.add_subcommand("eval", "How good a model is");
  eval->require_subcommand(1);
  perplexity_command_ = eval->add_subcommand("perplexity", "Perplexity of a text, with its error");
  perplexity_command_->add_option("--model,-m", perplexity_.model.folder, "Model folder")->required();
  perplexity_command_->add_option("--text", perplexity_.text, "A file with the text")->required();
  perplexity_command_
      ->add_option("--context", perplexity_.context,
                   "Tokens of one window (default: the model's positions, at most 2048)")
      ->check(integer_in(2, kMostTokens));
  perplexity_command_
      ->add_option("--stride", perplexity_.stride, "Tokens judged per window (default: half of it)")
      ->check(integer_in(1, kMostTokens));
  perplexity_command_->add_flag("--json", perplexity_.json, "Print JSON");
  perplexity_.model.add_to(perplexity_command_);

  bench_command_ = bench.add_subcommand("llm", "Prefill and decode speed of a language model");
  bench_command_->add_option("--model,-m", bench_.model.folder, "Model folder");
  bench_command_
      ->add_option("--shape", bench_.shape,
                   "Sizes of a known model, with --random-weights: llama-7b, llama-1b, llama3-8b, …")
      ->check(one_of(models::config_names()));
  bench_command_->add_flag("--random-weights", bench_.random_weights, "Weights that mean nothing");
  bench_command_
      ->add_option("--layers", bench_.layers,
                   "Only so many layers of the shape; figures are still those of what was run")
      ->check(integer_in(1, 1000));
  bench_command_->add_option("--pp", bench_.prompt_sizes, "Tokens of the prompts (default: 512)")
      ->check(integer_in(0, kMostBenchTokens))
      ->delimiter(',');
  bench_command_->add_option("--tg", bench_.generate_sizes, "Tokens generated (default: 128)")
      ->check(integer_in(0, kMostBenchTokens))
      ->delimiter(',');
  bench_command_->add_option("--depth", bench_.depth, "Tokens in the cache before")
      ->check(integer_in(0, kMostBenchTokens));
  bench_command_->add_option("--repetitions,-r", bench_.repetitions, "Runs of each test (default: 5)")
      ->check(integer_in(1, 1000));
  bench_command_
      ->add_option("--schemes", bench_.schemes, "Several of bfloat16, float16, float32, int8, int4-g32, …")
      ->check(one_of(schemes_and(weight_dtypes())))
      ->delimiter(',');
  bench_command_->add_flag("--ladder", bench_.ladder,
                           "Eager, static cache, compiled, int8, int4 and speculative, in one table");
  bench_command_
      ->add_option("--draft-shape", bench_.draft_shape,
                   "The draft model's shape for --ladder (default: prompt-lookup)")
      ->check(one_of(models::config_names()));
  bench_command_
      ->add_option(
          "--llama-cpp", bench_.llama_cpp,
          "Directory of a build of llama.cpp or ik_llama.cpp, or of its llama-bench, which measures the "
          "GGUF file as well; may be repeated")
      ->check(not_empty())
      ->allow_extra_args(false);
  bench_command_->add_option("--format,-o", bench_.format, "md, json or csv (default: md)")
      ->check(one_of({"md", "json", "csv"}));
  bench_.model.add_to(bench_command_);
}

bool ModelCommands::is_asked() const {
  return generate_command_->parsed() || quantize_command_->parsed() || perplexity_command_->parsed() ||
         bench_command_->parsed();
}

int ModelCommands::run() const {
  if (generate_command_->parsed()) return generate(generate_);
  if (quantize_command_->parsed()) return quantize(quantize_);
  if (perplexity_command_->parsed()) return perplexity(perplexity_);
  return bench_llm(bench_);
}

}  // namespace weft::cli
