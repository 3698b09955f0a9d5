// weft bench serve: what texts written side by side cost, and how long a new one waits for its first token.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/serve.h"
#include "cli/usage.h"
#include "runtime/ceilings.h"
#include "serve/engine.h"
#include "weft/error.h"
#include "weft/models/config.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

using serve::Engine;
using ServeClock = std::chrono::steady_clock;

// Tokens that are their numbers: for weights that mean nothing.
class NumberTokenizer : public models::Tokenizer {
 public:
  explicit NumberTokenizer(int64_t size) : size_(size) {}
  int64_t vocab_size() const override { return size_; }
  std::vector<int64_t> encode(std::string_view, bool, bool) const override { return {0}; }
  std::string token_bytes(int64_t id) const override { return fmt::format(" {}", id); }
  std::optional<int64_t> token_id(std::string_view) const override { return std::nullopt; }
  bool is_special(int64_t) const override { return false; }
  std::optional<int64_t> bos_id() const override { return std::nullopt; }
  std::vector<int64_t> eos_ids() const override { return {}; }

 private:
  int64_t size_;
};

constexpr int kPromptsPerRun = 8;  // whose first tokens are waited for

struct Streams {
  int64_t count = 0;
  double tokens_per_second = 0, utilization = 0;
  double first_token_seconds = 0,
         slow_first_token_seconds = 0;  // the median, and what 95 of 100 do not exceed
};

// The smallest value that so many of 100 do not exceed.
double percentile(std::vector<double> values, size_t percent) {
  std::sort(values.begin(), values.end());
  return values[(values.size() * percent + 99) / 100 - 1];
}

class StreamsBench {
 public:
  StreamsBench(Engine& engine, const models::CausalModel& model, int64_t prompt, int64_t generate, int repetitions)
      : engine_(engine), model_(model), prompt_(prompt), generate_(generate), repetitions_(repetitions) {}

  // `count` texts at once: tokens per second while all are written; the first tokens of prompts that come one
  // after the other while count - 1 are.
  Streams measure(int64_t count, double read_gbs) {
    std::vector<double> rates, waits;
    for (int i = 0; i < repetitions_; ++i) {
      rates.push_back(rate(count));
      add_waits(count - 1, waits);
    }
    Streams streams{.count = count,
                    .tokens_per_second = percentile(rates, 50),
                    .first_token_seconds = percentile(waits, 50),
                    .slow_first_token_seconds = percentile(waits, 95)};
    if (read_gbs > 0)
      streams.utilization = static_cast<double>(model_.bytes_per_token()) * streams.tokens_per_second /
                            static_cast<double>(count) / (read_gbs * 1e9);
    return streams;
  }

 private:
  // No two prompts begin alike.
  uint64_t submit(int64_t tokens, int64_t& written) {
    serve::Request request{.max_tokens = tokens, .ignore_eos = true};
    for (int64_t i = 0; i < prompt_; ++i)
      request.prompt.push_back(
          static_cast<int64_t>(numbers_() % static_cast<uint64_t>(model_.config().vocab_size)));
    request.on_event = [&written](const serve::Event& event) { written = event.generated_tokens; };
    return *engine_.submit(std::move(request));
  }

  void step_until_all_have(const std::vector<int64_t>& written, int64_t tokens) {
    while (std::any_of(written.begin(), written.end(), [&](int64_t have) { return have < tokens; }))
      WEFT_ASSERT(engine_.step(), "nothing is left to do");
  }

  double rate(int64_t count) {
    std::vector<int64_t> written(static_cast<size_t>(count));
    for (int64_t& have : written) submit(generate_, have);
    step_until_all_have(written, 1);
    int64_t before = 0, after = 0;
    for (const int64_t have : written) before += have;
    const auto start = ServeClock::now();
    while (std::none_of(written.begin(), written.end(), [&](int64_t have) { return have == generate_; }))
      engine_.step();
    const double seconds = std::chrono::duration<double>(ServeClock::now() - start).count();
    for (const int64_t have : written) after += have;
    while (engine_.step()) {
    }
    return static_cast<double>(after - before) / seconds;
  }

  void add_waits(int64_t others, std::vector<double>& waits) {
    std::vector<int64_t> written(static_cast<size_t>(others));
    std::vector<uint64_t> requests;
    for (int64_t& have : written) requests.push_back(submit(1 << 20, have));
    step_until_all_have(written, 2);
    for (int i = 0; i < kPromptsPerRun; ++i) {
      std::vector<int64_t> first(1);
      const auto start = ServeClock::now();
      submit(1, first[0]);
      step_until_all_have(first, 1);
      waits.push_back(std::chrono::duration<double>(ServeClock::now() - start).count());
    }
    for (const uint64_t request : requests) engine_.cancel(request);
    while (engine_.step()) {
    }
  }

  Engine& engine_;
  const models::CausalModel& model_;
  int64_t prompt_, generate_;
  int repetitions_;
  std::mt19937_64 numbers_{1};
};

}  // namespace

BenchServeCommand::BenchServeCommand(CLI::App& bench)
    : command_(bench.add_subcommand("serve", "Texts that a language model writes side by side")) {
  command_->add_option("--shape", shape_, "Sizes of a known model, whose weights mean nothing")
      ->required()
      ->check(one_of(models::config_names()));
  command_->add_option("--layers", layers_, "Only so many layers of the shape")->check(integer_in(1, 1000));
  std::vector<std::string> schemes = quantization_schemes();
  for (const std::string& dtype : weight_dtypes()) schemes.push_back(dtype);
  command_->add_option("--scheme", scheme_, "int8 (default), int4-g32, …, bfloat16, float16, float32")
      ->check(one_of(schemes));
  command_->add_option("--streams", streams_, "Texts at once (default: 1,4,16)")
      ->check(integer_in(1, 1024))
      ->delimiter(',');
  command_->add_option("--prompt", prompt_, "Tokens of a prompt (default: 32)")->check(integer_in(1, 65536));
  command_->add_option("--generate", generate_, "Tokens of a text (default: 64)")
      ->check(integer_in(2, 65536));
  command_->add_option("--repetitions,-r", repetitions_, "Runs, of which the median counts (default: 3)")
      ->check(integer_in(1, 1000));
  command_->add_option("--threads", threads_, "Number of threads (default: all cores)")
      ->check(integer_in(1, 1024));
  command_->add_flag("--json", json_, "Print JSON");
}

int BenchServeCommand::run() const {
  if (threads_ > 0) set_num_threads(static_cast<int>(threads_));
  models::DecoderConfig config = models::named_config(shape_);
  if (layers_ > 0) config.num_layers = std::min(config.num_layers, layers_);
  const int64_t most = *std::max_element(streams_.begin(), streams_.end());
  models::ModelOptions options;
  (scheme_.starts_with("int") ? options.quantize : options.dtype) = scheme_;
  options.max_positions = std::min(config.max_position_embeddings, 2 * prompt_ + 2 * generate_ + 512);
  WEFT_CHECK(prompt_ + generate_ <= options.max_positions,
             fmt::format("bench serve: prompt and text have {} tokens, the model's context {}",
                         prompt_ + generate_, options.max_positions));
  const double read_gbs = runtime::measure_read_bandwidth();
  const auto model = models::CausalModel::random(config, options);
  Engine engine(model, std::make_shared<NumberTokenizer>(config.vocab_size), {.max_batch = most});
  StreamsBench bench(engine, *model, prompt_, generate_, static_cast<int>(repetitions_));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (!json_)
    fmt::print(
        "{}, {} layers, {}: {:.2f} GB of weights per step, {:.1f} GB/s, {} threads\n\n"
        "| streams | tokens/s | steps/s | of reading | first token ms | 95% |\n|--:|--:|--:|--:|--:|--:|\n",
        shape_, config.num_layers, scheme_, static_cast<double>(model->bytes_per_token()) / 1e9, read_gbs,
        get_num_threads());
  for (const int64_t count : streams_) {
    const Streams streams = bench.measure(count, read_gbs);
    const double steps = streams.tokens_per_second / static_cast<double>(count);
    if (!json_)
      fmt::print("| {} | {:.1f} | {:.2f} | {:.0f}% | {:.1f} | {:.1f} |\n", count, streams.tokens_per_second,
                 steps, 100 * streams.utilization, 1e3 * streams.first_token_seconds,
                 1e3 * streams.slow_first_token_seconds);
    std::fflush(stdout);
    rows.push_back({{"streams", count},
                    {"tokens_per_second", streams.tokens_per_second},
                    {"model_bandwidth_utilization", streams.utilization},
                    {"first_token_seconds", streams.first_token_seconds},
                    {"slow_first_token_seconds", streams.slow_first_token_seconds}});
  }
  if (json_) fmt::print("{}\n", rows.dump(2));
  return 0;
}

}  // namespace weft::cli
