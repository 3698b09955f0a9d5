#include "weft/models/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "weft/error.h"

namespace weft::models {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int64_t kMaxSpeculation = 7;   // one pass over the weights serves up to 8 tokens
constexpr int64_t kProbeTokens = 8;      // plain tokens that say what speculation has to beat
constexpr int64_t kJudgedTokens = 24;    // speculative tokens between two judgements
constexpr int64_t kPrefillBlock = 512;

std::span<const float> row_of(const Tensor& logits, int64_t row) {
  const int64_t vocab = logits.size(1);
  return {logits.data_as<float>() + row * vocab, static_cast<size_t>(vocab)};
}

// Feeds `tokens` in blocks; the logits of the last.
Tensor feed(const Llama& model, std::span<const int64_t> tokens, KVCache& cache) {
  while (static_cast<int64_t>(tokens.size()) > kPrefillBlock) {
    model.forward(tokens.first(kPrefillBlock), cache);
    tokens = tokens.subspan(kPrefillBlock);
  }
  return model.forward(tokens, cache);
}

std::vector<int64_t> ends_of(const Llama& model, const Tokenizer& tokenizer) {
  std::vector<int64_t> ends = model.config().eos_token_ids;
  for (const int64_t id : tokenizer.eos_ids()) ends.push_back(id);
  return ends;
}

}  // namespace

Generation::Generation(std::shared_ptr<const Llama> model, std::vector<int64_t> prompt, GenerationOptions options)
    : model_(std::move(model)), options_(std::move(options)), sampler_(options_.sampling), tokens_(std::move(prompt)) {
  WEFT_CHECK(!tokens_.empty(), "generate: the prompt has no tokens");
  WEFT_CHECK(options_.max_new_tokens >= 0, fmt::format("generate: max_new_tokens must be at least 0, got {}", options_.max_new_tokens));
  const int64_t positions = model_->max_positions(), length = static_cast<int64_t>(tokens_.size());
  WEFT_CHECK(length < positions || (length == positions && options_.max_new_tokens == 0),
             fmt::format("generate: the prompt has {} tokens, the model's context {} leaves no room for new ones", length, positions));
  if (options_.draft || options_.prompt_lookup)
    WEFT_CHECK(options_.speculate_k >= 1 && options_.speculate_k <= kMaxSpeculation,
               fmt::format("generate: speculate_k must be between 1 and {}, got {}", kMaxSpeculation, options_.speculate_k));
  if (options_.draft)
    WEFT_CHECK(options_.draft->config().vocab_size == model_->config().vocab_size,
               fmt::format("generate: the draft model has a vocabulary of {}, the model one of {}", options_.draft->config().vocab_size,
                           model_->config().vocab_size));
  if (options_.eos_token_ids.empty()) options_.eos_token_ids = model_->config().eos_token_ids;
  const int64_t capacity = std::min(positions, length + options_.max_new_tokens + kMaxSpeculation + 1);
  cache_ = model_->make_cache(capacity);
  if (options_.draft) draft_cache_ = options_.draft->make_cache(std::min(options_.draft->max_positions(), capacity));
  stats_.prompt_tokens = length;
}

Generation::~Generation() = default;

bool Generation::is_end(int64_t token) const {
  const std::vector<int64_t>& ends = options_.eos_token_ids;
  return !options_.ignore_eos && std::find(ends.begin(), ends.end(), token) != ends.end();
}

std::optional<int64_t> Generation::next() {
  if (is_finished_ || returned_ >= options_.max_new_tokens) return std::nullopt;
  if (ready_.empty()) {
    const auto start = Clock::now();
    const size_t before = tokens_.size();
    if (!is_prefilled_) {
      prefill();
      stats_.prefill_seconds = seconds_since(start);
    } else {
      if (cache_.length >= cache_.capacity) return std::nullopt;
      if (wants_speculation()) speculative_round();
      else plain_step();
      stats_.decode_seconds += seconds_since(start);
      stats_.decode_tokens += static_cast<int64_t>(tokens_.size() - before);
    }
  }
  const int64_t token = ready_.front();
  ready_.pop_front();
  if (is_end(token)) {
    is_finished_ = true;
    return std::nullopt;
  }
  ++returned_;
  ++stats_.generated_tokens;
  return token;
}

void Generation::prefill() {
  const Tensor logits = feed(*model_, tokens_, cache_);
  is_prefilled_ = true;
  const int64_t token = sampler_.sample(row_of(logits, 0), tokens_);
  tokens_.push_back(token);
  ready_.push_back(token);
}

void Generation::plain_step() {
  const auto start = Clock::now();
  const int64_t last = tokens_.back();
  const Tensor logits = model_->forward(std::span(&last, 1), cache_);
  const int64_t token = sampler_.sample(row_of(logits, 0), tokens_);
  tokens_.push_back(token);
  ready_.push_back(token);
  plain_seconds_ += seconds_since(start);
  ++plain_tokens_;
}

bool Generation::wants_speculation() const {
  if ((!options_.draft && !options_.prompt_lookup) || stats_.speculation_stopped) return false;
  if (options_.adaptive_speculation && plain_tokens_ < kProbeTokens) return false;
  const int64_t room = std::min(cache_.capacity - cache_.length, options_.max_new_tokens - returned_);
  if (options_.draft && draft_cache_.capacity < static_cast<int64_t>(tokens_.size()) + options_.speculate_k) return false;
  return room > options_.speculate_k + 1;
}

void Generation::judge_speculation() {
  if (!options_.adaptive_speculation || speculative_tokens_ < kJudgedTokens) return;
  stats_.plain_seconds_per_token = plain_seconds_ / static_cast<double>(plain_tokens_);
  stats_.speculative_seconds_per_token = speculative_seconds_ / static_cast<double>(speculative_tokens_);
  stats_.speculation_stopped = stats_.speculative_seconds_per_token > stats_.plain_seconds_per_token;
  speculative_tokens_ = 0;
  speculative_seconds_ = 0;
}

std::vector<int64_t> Generation::look_up() const {
  constexpr int64_t kLongest = 4;
  const int64_t length = static_cast<int64_t>(tokens_.size());
  for (int64_t size = std::min(kLongest, length - 1); size >= 1; --size)
    for (int64_t at = length - size - 1; at >= 0; --at) {
      if (!std::equal(tokens_.end() - size, tokens_.end(), tokens_.begin() + at)) continue;
      const int64_t begin = at + size, end = std::min(length, begin + options_.speculate_k);
      return {tokens_.begin() + begin, tokens_.begin() + end};
    }
  return {};
}

// The draft's tokens, and the distributions they were drawn from (none for looked-up tokens, which are certain).
std::vector<int64_t> Generation::propose(std::vector<std::vector<float>>& distributions) {
  if (!options_.draft) return look_up();
  std::vector<int64_t> history = tokens_, proposed;
  for (int64_t i = 0; i < options_.speculate_k; ++i) {
    const Tensor logits = feed(*options_.draft, std::span(history).subspan(static_cast<size_t>(draft_cache_.length)), draft_cache_);
    distributions.push_back(sampler_.probabilities(row_of(logits, 0), history));
    proposed.push_back(sampler_.options().is_greedy() ? argmax(distributions.back()) : sampler_.draw(distributions.back()));
    history.push_back(proposed.back());
  }
  return proposed;
}

// source: Leviathan et al. 2023, algorithm 1: a proposed token is kept with probability min(1, p / q), and replaced by one
// drawn from max(0, p - q) otherwise, so that what comes out is distributed as p.
void Generation::speculative_round() {
  const auto start = Clock::now();
  std::vector<std::vector<float>> drafts;
  const std::vector<int64_t> proposed = propose(drafts);
  if (proposed.empty()) return plain_step();
  std::vector<int64_t> fed = {tokens_.back()};
  fed.insert(fed.end(), proposed.begin(), proposed.end());
  const int64_t before = cache_.length;
  const Tensor logits = model_->forward(fed, cache_, true);
  size_t accepted = 0;
  while (true) {
    std::vector<float> target = sampler_.probabilities(row_of(logits, static_cast<int64_t>(accepted)), tokens_);
    int64_t token = 0;
    bool is_kept = false;
    if (accepted < proposed.size()) {
      token = proposed[accepted];
      const float p = target[static_cast<size_t>(token)], q = drafts.empty() ? 1.0f : drafts[accepted][static_cast<size_t>(token)];
      is_kept = p >= q || sampler_.uniform() * q < p;
      if (!is_kept) {
        float total = 0;
        for (size_t i = 0; i < target.size(); ++i) {
          const float own = drafts.empty() ? (static_cast<int64_t>(i) == token ? 1.0f : 0.0f) : drafts[accepted][i];
          total += target[i] = std::max(0.0f, target[i] - own);
        }
        if (total <= 0) target = sampler_.probabilities(row_of(logits, static_cast<int64_t>(accepted)), tokens_);  // rounding
      }
    }
    if (!is_kept) token = sampler_.options().is_greedy() ? argmax(target) : sampler_.draw(target);
    tokens_.push_back(token);
    ready_.push_back(token);
    if (!is_kept) break;
    ++accepted;
    if (is_end(token)) break;
  }
  cache_.length = before + 1 + static_cast<int64_t>(accepted);
  if (options_.draft) draft_cache_.length = std::min(draft_cache_.length, cache_.length);
  const int64_t emitted = static_cast<int64_t>(ready_.size());
  ++stats_.rounds;
  stats_.proposed += static_cast<int64_t>(proposed.size());
  stats_.accepted += static_cast<int64_t>(accepted);
  speculative_tokens_ += emitted;
  speculative_seconds_ += seconds_since(start);
  judge_speculation();
}

TextGeneration::TextGeneration(std::shared_ptr<const Llama> model, std::shared_ptr<const Tokenizer> tokenizer, std::vector<int64_t> prompt,
                               GenerationOptions options, std::vector<std::string> stop)
    : generation_(model, std::move(prompt), [&] {
        if (options.eos_token_ids.empty()) options.eos_token_ids = ends_of(*model, *tokenizer);
        return std::move(options);
      }()),
      decoder_(tokenizer, generation_.tokens().size() == 1 && tokenizer->bos_id() == generation_.tokens()[0]),
      stop_(std::move(stop)) {
  for (const std::string& text : stop_) WEFT_CHECK(!text.empty(), "generate: a stop string is empty");
}

std::optional<std::string> TextGeneration::next() {
  if (is_finished_) return std::nullopt;
  const std::optional<int64_t> token = generation_.next();
  held_ += token ? decoder_.push(*token) : decoder_.finish();
  is_finished_ = !token;
  for (const std::string& stop : stop_)
    if (const size_t at = held_.find(stop); at != std::string::npos) {
      held_.erase(at);
      is_finished_ = true;
    }
  // What may be the beginning of a stop string waits.
  size_t kept = 0;
  if (!is_finished_)
    for (const std::string& stop : stop_)
      for (size_t length = std::min(stop.size() - 1, held_.size()); length > kept; --length)
        if (held_.ends_with(std::string_view(stop).substr(0, length))) kept = length;
  std::string text = held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return text;
}

}  // namespace weft::models
