#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/llm.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "weft/error.h"
#include "weft/models/tokenizer.h"

namespace weft::cli {
namespace {

// -log of the probability that softmax(logits) gives `token`.
double negative_log_likelihood(const float* logits, int64_t vocab, int64_t token) {
  const float largest = *std::max_element(logits, logits + vocab);
  double sum = 0;
  for (int64_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(logits[i]) - largest);
  return std::log(sum) + largest - logits[token];
}

}  // namespace

// Windows of `context` tokens, each of whose last `stride` tokens are judged.
int perplexity(const PerplexityArguments& arguments) {
  if (arguments.context > 0 && arguments.stride >= arguments.context)
    throw UsageError(fmt::format("eval perplexity: --stride must be below --context {}, got {}",
                                 arguments.context, arguments.stride));
  const std::string text = read_text(arguments.text);
  const auto model = arguments.model.load();
  const auto tokenizer = models::Tokenizer::open(arguments.model.folder);
  const std::vector<int64_t> ids = tokenizer->encode(text);
  const int64_t count = static_cast<int64_t>(ids.size());
  WEFT_CHECK(count >= 2, fmt::format("'{}': fewer than two tokens", arguments.text));
  const int64_t context =
      arguments.context > 0 ? arguments.context : std::min<int64_t>(model->max_positions(), 2048);
  WEFT_CHECK(context >= 2 && context <= model->max_positions(),
             fmt::format("--context must be between 2 and {}, got {}", model->max_positions(), context));
  const int64_t stride = arguments.stride > 0 ? arguments.stride : std::max<int64_t>(1, context / 2);
  WEFT_CHECK(stride < context || count <= context,
             fmt::format("--stride must be below the context {}, got {}", context, stride));
  double sum = 0, squares = 0;
  int64_t judged = 0;
  Progress progress("token");
  models::KVCache cache = model->make_cache(context);
  for (int64_t done = 1; done < count;) {
    const int64_t end = std::min(count, done == 1 ? context : done + stride),
                  begin = std::max<int64_t>(0, end - context);
    cache.length = 0;
    const Tensor logits = model->forward(
        std::span(ids).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), cache, true);
    for (int64_t i = done; i < end; ++i) {
      const double loss = negative_log_likelihood(logits.data_as<float>() + (i - 1 - begin) * logits.size(1),
                                                  logits.size(1), ids[static_cast<size_t>(i)]);
      sum += loss;
      squares += loss * loss;
      ++judged;
    }
    done = end;
    progress.update(done, count,
                    fmt::format("perplexity {:.4f}", std::exp(sum / static_cast<double>(judged))));
  }
  const double n = static_cast<double>(judged), mean = sum / n,
               variance = std::max(0.0, squares / n - mean * mean);
  const double value = std::exp(mean), error = n > 1 ? value * std::sqrt(variance / (n - 1)) : 0.0;
  const nlohmann::ordered_json result = {
      {"perplexity", value}, {"error", error}, {"tokens", judged}, {"context", context}, {"stride", stride}};
  progress.print(
      arguments.json
          ? result.dump(2) + "\n"
          : fmt::format(
                "perplexity {:.4f} +/- {:.4f} over {} tokens, windows of {} tokens, the last {} judged\n",
                value, error, judged, context, stride));
  return 0;
}

}  // namespace weft::cli
