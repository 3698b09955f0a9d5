// weft bench llm: prefill (pp) and decode (tg) speed, as mean and standard deviation of some runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/llama_bench.h"
#include "cli/llm.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/usage.h"
#include "models/paged_batch.h"
#include "models/weight_source.h"
#include "runtime/ceilings.h"
#include "runtime/host.h"
#include "runtime/toolchain.h"
#include "weft/distributed.h"
#include "weft/error.h"
#include "weft/models/generation.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

using namespace models;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Row {
  std::string model, weights, test, execution;
  double gigabytes = 0;                 // of weights per token
  double mean = 0, deviation = 0;       // tokens per second
  double share = 0;                     // decode: of the read ceiling; prefill: GFLOP/s
  std::vector<RankFigures> ranks = {};  // none without tensor parallelism
};

class Bench {
 public:
  explicit Bench(const BenchLlmArguments& arguments) : arguments_(arguments) {
    if (arguments.model.threads > 0) set_num_threads(arguments.model.threads);
    const bool has_shape = !arguments.shape.empty() || arguments.random_weights || arguments.layers > 0;
    const auto check = [](bool condition, const std::string& message) {
      if (!condition) throw UsageError("bench llm: " + message + " (weft bench llm --help)");
    };
    check(arguments.model.folder.empty() || !has_shape,
          "give --model, or --shape with --random-weights, not both");
    check(!arguments.model.folder.empty() || !arguments.shape.empty(),
          "give --model FOLDER, or --shape NAME with --random-weights");
    check(arguments.shape.empty() || arguments.random_weights,
          "--shape has no weights of its own: add --random-weights");
    check(arguments.draft_shape.empty() || arguments.ladder, "--draft-shape is for --ladder");
    check(arguments.llama_cpp.empty() || arguments.model.folder.ends_with(".gguf"),
          "--llama-cpp measures GGUF files: give --model FILE.gguf");
    check(arguments.llama_cpp.empty() || arguments.schemes.empty(),
          "--llama-cpp measures the file as it is: leave --schemes out");
    device_ = arguments.model.device_of_model();
    check(device_ == Device() || arguments.llama_cpp.empty(), "--llama-cpp measures on the CPU alone");
    check(device_ == Device() || !arguments.ladder,
          "--ladder compares what there is on the CPU alone; --schemes compares weights on a device");
    // Ranks measure together, as they compute.
    if (start_ranks(arguments.model.tensor_parallel)) distributed::barrier();
    if (device_ == Device()) read_gbs_ = runtime::measure_read_bandwidth();
  }

  void run() {
    if (arguments_.ladder) return ladder();
    std::vector<std::string> schemes = arguments_.schemes;
    if (schemes.empty()) schemes.push_back("");
    for (const std::string& scheme : schemes) {
      const auto model = make(scheme, arguments_.model.compile ? Execution::Compiled : Execution::Static);
      for (const int64_t size : arguments_.prompt_sizes)
        if (size > 0) prefill(*model, size);
      for (const int64_t size : arguments_.generate_sizes)
        if (size > 0) decode(*model, size, "");
    }
    for (const std::string& directory : arguments_.llama_cpp) measure_llama_cpp(directory);
  }

  void print() const {
    if (arguments_.format == "json")
      print_json();
    else if (arguments_.format == "csv")
      print_csv();
    else
      print_markdown();
  }

 private:
  int64_t positions() const {
    int64_t most = 1;
    for (const auto* sizes : {&arguments_.prompt_sizes, &arguments_.generate_sizes})
      for (const int64_t size : *sizes) most = std::max(most, size);
    return most + arguments_.depth + 16;
  }

  std::shared_ptr<const CausalModel> make(const std::string& scheme, Execution execution) {
    ModelOptions options = arguments_.model.options();
    options.execution = execution;
    if (is_dtype(scheme))
      options.dtype = scheme;
    else if (!scheme.empty())
      options.quantize = scheme;
    Progress progress("making layer");
    options.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
    if (!arguments_.model.folder.empty()) {
      name_ = arguments_.model.folder;
      return with_room(CausalModel::from_pretrained(arguments_.model.folder, options));
    }
    DecoderConfig config = named_config(arguments_.shape);
    name_ = arguments_.shape;
    if (arguments_.layers > 0 && arguments_.layers < config.num_layers) {
      config.set_num_layers(arguments_.layers);
      name_ += fmt::format(" ({} layers)", arguments_.layers);
    }
    options.max_positions =
        std::min(config.max_position_embeddings, std::max(positions(), arguments_.model.max_positions));
    return with_room(CausalModel::random(config, options, arguments_.seed));
  }

  std::shared_ptr<const CausalModel> with_room(std::shared_ptr<const CausalModel> model) const {
    for (const auto& [option, sizes] :
         {std::pair{"--pp", &arguments_.prompt_sizes}, std::pair{"--tg", &arguments_.generate_sizes}})
      for (const int64_t size : *sizes)
        WEFT_CHECK(size <= model->max_positions() - arguments_.depth,
                   fmt::format("bench llm: {} {} after --depth {} does not fit into the context of {}",
                               option, size, arguments_.depth, model->max_positions()));
    return model;
  }

  static bool is_dtype(const std::string& scheme) {
    return scheme == "float32" || scheme == "bfloat16" || scheme == "float16";
  }
  static std::string weights_of(const CausalModel& model) {
    const ModelOptions& options = model.options();
    return options.quantize.empty() || options.quantize == "none" ? options.dtype : options.quantize;
  }
  std::string execution_of(Execution execution) const {
    return device_ != Device()              ? device_.str()
           : execution == Execution::Eager  ? "eager"
           : execution == Execution::Static ? "static cache"
                                            : "compiled";
  }

  template <class F>
  void measure(const CausalModel& model, const std::string& test, const std::string& execution, int64_t tokens,
               F&& once) {
    Progress progress(test);
    once();  // warm: plans, page tables, clocks
    const bool is_parallel = model.num_ranks() > 1;
    if (is_parallel) distributed::reset_statistics();
    double sum = 0, squares = 0, seconds = 0;
    for (int i = 0; i < arguments_.repetitions; ++i) {
      progress.update(i, arguments_.repetitions);
      const double took = once(), rate = static_cast<double>(tokens) / took;
      seconds += took;
      sum += rate;
      squares += rate * rate;
    }
    const double n = arguments_.repetitions;
    cache_bytes_ = PagedBatch::cache_bytes_per_token(model);
    Row row{name_,
            weights_of(model),
            test,
            execution,
            static_cast<double>(model.bytes_per_token()) * 1e-9,
            sum / n,
            0,
            0,
            {}};
    if (is_parallel) {
      const distributed::Statistics statistics = distributed::statistics();
      row.ranks = gather_figures({.weight_bytes = static_cast<double>(model.bytes_per_token()),
                                  .read_gbs = read_gbs_,
                                  .collective_seconds = statistics.seconds,
                                  .collective_calls = static_cast<double>(statistics.calls),
                                  .seconds = seconds});
    }
    row.deviation = n > 1 ? std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1))) : 0;
    rows_.push_back(row);
  }

  std::vector<int64_t> some_tokens(const CausalModel& model, int64_t count) const {
    std::vector<int64_t> tokens;
    for (int64_t i = 0; i < count; ++i) tokens.push_back((1 + i * 7919) % model.config().vocab_size);
    return tokens;
  }

  void fill(const CausalModel& model, KVCache& cache) const {
    if (arguments_.depth > 0) model.forward(some_tokens(model, arguments_.depth), cache);
  }

  void prefill(const CausalModel& model, int64_t size) {
    KVCache cache = model.make_cache(std::min(model.max_positions(), size + arguments_.depth));
    fill(model, cache);
    const std::vector<int64_t> tokens = some_tokens(model, size);
    measure(model, fmt::format("pp{}", size), execution_of(model.options().execution), size, [&] {
      cache.length = arguments_.depth;
      const auto start = Clock::now();
      model.forward(tokens, cache);
      return seconds_since(start);
    });
    // Two operations for each weight of a layer and token; the head runs once.
    const DecoderConfig& config = model.config();
    const double head = static_cast<double>(config.vocab_size * config.hidden_size);
    const double weights =
        static_cast<double>(config.num_active_parameters()) - head * (config.tie_word_embeddings ? 1 : 2);
    rows_.back().share = 2 * (weights + head / static_cast<double>(size)) * rows_.back().mean * 1e-9;
  }

  void decode(const CausalModel& model, int64_t size, const std::string& note) {
    KVCache cache = model.make_cache(std::min(model.max_positions(), size + arguments_.depth + 1));
    fill(model, cache);
    const Execution execution = model.options().execution;
    measure(model, fmt::format("tg{}", size), note.empty() ? execution_of(execution) : note, size, [&] {
      cache.length = arguments_.depth;
      const auto start = Clock::now();
      int64_t token = 1;
      for (int64_t i = 0; i < size; ++i) {
        const Tensor logits = model.forward(std::span(&token, 1), cache);
        token = argmax({logits.data_as<float>(), static_cast<size_t>(logits.numel())});
      }
      return seconds_since(start);
    });
    if (read_gbs_ > 0) rows_.back().share = rows_.back().gigabytes * rows_.back().mean / read_gbs_;
  }

  void speculative(const std::shared_ptr<const CausalModel>& model, int64_t size) {
    GenerationOptions options;
    options.max_new_tokens = size;
    options.ignore_eos = true;
    if (arguments_.draft_shape.empty())
      options.prompt_lookup = true;
    else {
      DecoderConfig config = named_config(arguments_.draft_shape);
      config.vocab_size = model->config().vocab_size;
      ModelOptions draft = arguments_.model.options();
      draft.quantize = "int4-g32";
      draft.max_positions = model->max_positions();
      options.draft = CausalModel::random(config, draft, arguments_.seed);
    }
    GenerationStats stats;
    measure(*model, fmt::format("tg{}", size), "compiled, speculative", size, [&] {
      Generation generation(model, some_tokens(*model, 4), options);
      generation.next();
      const auto start = Clock::now();
      while (generation.next()) {
      }
      stats = generation.stats();
      return seconds_since(start) * static_cast<double>(size) /
             static_cast<double>(std::max<int64_t>(1, stats.decode_tokens));
    });
    if (stats.proposed > 0)
      rows_.back().execution += fmt::format(" ({} of {} kept{})", stats.accepted, stats.proposed,
                                            stats.speculation_stopped ? ", stopped" : "");
    if (read_gbs_ > 0) rows_.back().share = rows_.back().gigabytes * rows_.back().mean / read_gbs_;
  }

  // Behind weft's rows of the same file: the same bytes for a token, and the same operations.
  void measure_llama_cpp(const std::string& directory) {
    const std::vector<LlamaBenchFigure> figures =
        run_llama_bench(directory, {.model = arguments_.model.folder,
                                    .prompts = arguments_.prompt_sizes,
                                    .generated = arguments_.generate_sizes,
                                    .depth = arguments_.depth,
                                    .repetitions = arguments_.repetitions,
                                    .threads = get_num_threads()});
    for (const LlamaBenchFigure& figure : figures) {
      const auto own =
          std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.test == figure.test; });
      if (own == rows_.end()) continue;  // a test of no tokens
      Row row = *own;
      row.execution = figure.program;
      row.share *= figure.mean / row.mean;
      row.mean = figure.mean, row.deviation = figure.deviation;
      row.ranks.clear();
      rows_.push_back(row);
    }
  }

  void ladder() {
    const int64_t size = arguments_.generate_sizes.empty() ? 64 : arguments_.generate_sizes[0];
    {
      auto model = make("bfloat16", Execution::Eager);
      decode(*model, size, "");
    }
    {
      auto model = make("bfloat16", Execution::Static);
      decode(*model, size, "");
    }
    for (const char* scheme : {"bfloat16", "int8", "int4-g32"}) {
      const auto model = make(scheme, Execution::Compiled);
      decode(*model, size, "");
      if (std::string(scheme) == "int4-g32") speculative(model, size);
    }
  }

  std::string share_text(const Row& row) const {
    if (row.test.starts_with("tg"))
      return read_gbs_ > 0 ? fmt::format("{:.1f}% of read", 100 * row.share) : "";
    return fmt::format("{:.0f} GFLOP/s", row.share);
  }

  void print_markdown() const {
    if (device_ != Device())
      fmt::print("{}\n\n", device_.str());
    else
      fmt::print("{}, {}{} threads, reading memory at {:.1f} GB/s\n\n", runtime::host_cpu_brand(),
                 num_ranks() > 1 ? fmt::format("{} ranks of ", num_ranks()) : "", get_num_threads(),
                 read_gbs_);
    fmt::print(
        "| model | weights | GB/token | execution | test | tokens/s | of the ceiling "
        "|\n|---|---|--:|---|---|--:|--:|\n");
    for (const Row& row : rows_)
      fmt::print("| {} | {} | {:.3f} | {} | {} | {:.2f} ± {:.2f} | {} |\n", row.model, row.weights,
                 row.gigabytes, row.execution, row.test, row.mean, row.deviation, share_text(row));
    if (num_ranks() == 1) return;
    fmt::print(
        "\n| weights | test | rank | GB/token | read GB/s | of the ceiling | in collectives | µs per "
        "collective "
        "|\n|---|---|--:|--:|--:|--:|--:|--:|\n");
    for (const Row& row : rows_)
      for (size_t rank = 0; rank < row.ranks.size(); ++rank) {
        const RankFigures& figures = row.ranks[rank];
        fmt::print(
            "| {} | {} | {} | {:.3f} | {:.1f} | {} | {:.1f}% | {:.1f} |\n", row.weights, row.test, rank,
            figures.weight_bytes * 1e-9, figures.read_gbs,
            row.test.starts_with("tg") ? fmt::format("{:.1f}%", 100 * figures.utilization(row.mean)) : "",
            100 * figures.collective_share(),
            1e6 * figures.collective_seconds / std::max(1.0, figures.collective_calls));
      }
  }
  static int num_ranks() { return distributed::is_initialized() ? distributed::get_world_size() : 1; }
  void print_csv() const {
    fmt::print("model,weights,gb_per_token,execution,test,tokens_per_second,deviation,share\n");
    for (const Row& row : rows_)
      fmt::print("\"{}\",{},{:.6f},\"{}\",{},{:.4f},{:.4f},{:.5f}\n", row.model, row.weights, row.gigabytes,
                 row.execution, row.test, row.mean, row.deviation, row.share);
  }
  void print_json() const {
    nlohmann::ordered_json result = {{"cpu", runtime::host_cpu_brand()},
                                     {"device", device_.str()},
                                     {"threads", get_num_threads()},
                                     {"read_gb_per_second", read_gbs_},
                                     {"cache_bytes_per_token", cache_bytes_}};
    result["tests"] = nlohmann::ordered_json::array();
    for (const Row& row : rows_) {
      result["tests"].push_back({{"model", row.model},
                                 {"weights", row.weights},
                                 {"gb_per_token", row.gigabytes},
                                 {"execution", row.execution},
                                 {"test", row.test},
                                 {"tokens_per_second", row.mean},
                                 {"deviation", row.deviation},
                                 {row.test.starts_with("tg") ? "share_of_read" : "gflops", row.share}});
      for (const RankFigures& figures : row.ranks)
        result["tests"].back()["ranks"].push_back(
            {{"gb_per_token", figures.weight_bytes * 1e-9},
             {"read_gb_per_second", figures.read_gbs},
             {"share_of_read", figures.utilization(row.mean)},
             {"share_in_collectives", figures.collective_share()},
             {"seconds_per_collective",
              figures.collective_seconds / std::max(1.0, figures.collective_calls)}});
    }
    std::printf("%s\n", result.dump(2).c_str());
  }

  const BenchLlmArguments& arguments_;
  std::string name_;
  Device device_;
  double read_gbs_ = 0;  // of the process's memory; 0 on a device
  int64_t cache_bytes_ = 0;  // of keys and values, for a token
  std::vector<Row> rows_;
};

}  // namespace

int bench_llm(const BenchLlmArguments& arguments) {
  Bench bench(arguments);
  bench.run();
  bench.print();
  return 0;
}

}  // namespace weft::cli
