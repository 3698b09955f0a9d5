#include "weft/models/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int64_t kMaxSpeculation = 7;  // one pass over the weights serves up to 8 tokens
constexpr int64_t kProbeTokens = 8;     // plain tokens that say what speculation has to beat
constexpr int64_t kJudgedTokens = 24;   // speculative tokens between two judgements, or
constexpr int64_t kJudgedRounds = 12;   // so many rounds, where few are kept
constexpr int64_t kPrefillBlock = 512;

std::span<const float> row_of(const Tensor& logits, int64_t row) {
  const int64_t vocab = logits.size(1);
  return {logits.data_as<float>() + row * vocab, static_cast<size_t>(vocab)};
}

// What a cache has to hold before a text's next `count` tokens: nothing of a text that becomes long with
// them.
void renew_long_text(const CausalModel& model, KVCache& cache, int64_t count) {
  const std::optional<int64_t> from = model.long_text_from();
  if (from && cache.text <= *from && cache.length + count > *from) cache.length = 0;
}

// Feeds `tokens` in blocks; the logits of the last, or nothing where it was cancelled between two.
std::optional<Tensor> feed(const CausalModel& model, std::span<const int64_t> tokens, KVCache& cache,
                           const std::function<bool()>& is_cancelled = nullptr) {
  cache.text = cache.length + static_cast<int64_t>(tokens.size());
  while (static_cast<int64_t>(tokens.size()) > kPrefillBlock) {
    model.forward(tokens.first(kPrefillBlock), cache);
    tokens = tokens.subspan(kPrefillBlock);
    if (is_cancelled && is_cancelled()) return std::nullopt;
  }
  return model.forward(tokens, cache);
}

// Makes room for `capacity` tokens, keeping those it holds.
void reserve(const CausalModel& model, KVCache& cache, int64_t capacity) {
  if (!cache.keys.empty() && cache.capacity >= capacity) return;
  KVCache larger = model.make_cache(std::min(model.max_positions(), std::max(capacity, 2 * cache.capacity)));
  for (size_t i = 0; i < cache.keys.size(); ++i)
    for (const auto& [from, to] :
         {std::pair{&cache.keys[i], &larger.keys[i]}, std::pair{&cache.values[i], &larger.values[i]}})
      if (from == &cache.values[i] && model.config().layer(static_cast<int64_t>(i)).is_delta)
        to->copy_from(*from);
      else
        slice(*to, 1, 0, cache.length).copy_from(slice(*from, 1, 0, cache.length));
  larger.length = cache.length, larger.text = cache.text, larger.in_states = cache.in_states;
  cache = std::move(larger);
}

}  // namespace

const char* name(FinishReason reason) {
  switch (reason) {
    case FinishReason::None: return "";
    case FinishReason::EndToken: return "end_token";
    case FinishReason::StopText: return "stop_text";
    case FinishReason::Length: return "length";
    case FinishReason::ContextFull: return "context_full";
    case FinishReason::Cancelled: return "cancelled";
  }
  return "";
}

Generation::Generation(std::shared_ptr<const CausalModel> model, std::vector<int64_t> prompt,
                       GenerationOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      sampler_(options_.sampling, options_.ids),
      tokens_(std::move(prompt)) {
  WEFT_CHECK(!tokens_.empty(), "generate: the prompt has no tokens");
  WEFT_CHECK(options_.max_new_tokens >= 0,
             fmt::format("generate: max_new_tokens must be at least 0, got {}", options_.max_new_tokens));
  const int64_t positions = model_->max_positions(), length = static_cast<int64_t>(tokens_.size());
  WEFT_CHECK(
      length < positions || (length == positions && options_.max_new_tokens == 0),
      fmt::format("generate: the prompt has {} tokens, the model's context {} leaves no room for new ones",
                  length, positions));
  if (options_.draft || options_.prompt_lookup)
    WEFT_CHECK(options_.speculate_k >= 1 && options_.speculate_k <= kMaxSpeculation,
               fmt::format("generate: speculate_k must be between 1 and {}, got {}", kMaxSpeculation,
                           options_.speculate_k));
  for (const CausalModel* model : {model_.get(), options_.draft.get()})
    WEFT_CHECK(
        model == nullptr || !model->config().has_states() || !(options_.draft || options_.prompt_lookup),
        fmt::format("generate: models of '{}' do not speculate: what their delta rules keep of a text "
                    "cannot be set back",
                    model->config().model_type));
  if (options_.draft)
    WEFT_CHECK(options_.draft->config().vocab_size == model_->config().vocab_size,
               fmt::format("generate: the draft model has a vocabulary of {}, the model one of {}",
                           options_.draft->config().vocab_size, model_->config().vocab_size));
  if (options_.eos_token_ids.empty()) options_.eos_token_ids = model_->config().eos_token_ids;
  begin_context();
  stats_.prompt_tokens = length;
}

Generation::~Generation() = default;

void Generation::begin_context() {
  context_ = options_.context ? options_.context : std::make_shared<Context>();
  const std::scoped_lock lock(context_->mutex);
  generation_number_ = ++context_->generations;
  if (context_->model.lock() != model_) {
    context_->cache = KVCache{};
    context_->tokens.clear();
    context_->draft.reset();
  }
  if (context_->draft.lock() != options_.draft) context_->draft_cache = KVCache{};
  context_->model = model_;
  context_->draft = options_.draft;
  std::vector<int64_t>& held = context_->tokens;
  const auto same = std::mismatch(tokens_.begin(), tokens_.end() - 1, held.begin(), held.end()).first -
                    tokens_.begin();  // one is left to compute
  held.resize(static_cast<size_t>(same));
  // Keys of a long text are none of a short one, nor the other way round.
  const std::optional<int64_t> from = model_->long_text_from();
  if (from && (context_->cache.text > *from) != (static_cast<int64_t>(tokens_.size()) > *from)) held.clear();
  // States are those behind all tokens that they have seen.
  if (model_->config().has_states() && static_cast<int64_t>(held.size()) != context_->cache.in_states)
    held.clear();
  stats_.kept_tokens = static_cast<int64_t>(held.size());
  const int64_t positions = model_->max_positions();
  const int64_t capacity =
      std::min(positions, static_cast<int64_t>(tokens_.size()) +
                              std::min(positions, options_.max_new_tokens) + kMaxSpeculation + 1);
  context_->cache.length = stats_.kept_tokens;
  reserve(*model_, context_->cache, capacity);
  if (!options_.draft) return;
  context_->draft_cache.length = std::min<int64_t>(context_->draft_cache.length, stats_.kept_tokens);
  reserve(*options_.draft, context_->draft_cache, std::min(options_.draft->max_positions(), capacity));
}

// The context says what its cache holds.
void Generation::note_context() {
  std::vector<int64_t>& held = context_->tokens;
  const auto length = static_cast<size_t>(context_->cache.length);
  if (length > held.size())
    held.insert(held.end(), tokens_.begin() + static_cast<ptrdiff_t>(held.size()),
                tokens_.begin() + static_cast<ptrdiff_t>(length));
  else
    held.resize(length);
}

std::optional<int64_t> Generation::finish(FinishReason reason) {
  stats_.finish_reason = reason;
  return std::nullopt;
}

bool Generation::is_end(int64_t token) const {
  const std::vector<int64_t>& ends = options_.eos_token_ids;
  return !options_.ignore_eos && std::find(ends.begin(), ends.end(), token) != ends.end();
}

std::optional<int64_t> Generation::next() {
  const std::scoped_lock lock(context_->mutex);
  if (stats_.finish_reason != FinishReason::None) return std::nullopt;
  WEFT_CHECK(generation_number_ == context_->generations,
             "generate: another text was begun in the same context; this one cannot go on");
  if (returned_ >= options_.max_new_tokens) return finish(FinishReason::Length);
  if (ready_.empty()) {
    const auto start = Clock::now();
    const size_t before = tokens_.size();
    if (!is_prefilled_) {
      const bool is_done = prefill();
      stats_.prefill_seconds = seconds_since(start);
      if (!is_done) return finish(FinishReason::Cancelled);
    } else {
      if (context_->cache.length >= model_->max_positions()) return finish(FinishReason::ContextFull);
      if (wants_speculation())
        speculative_round();
      else
        plain_step();
      stats_.decode_seconds += seconds_since(start);
      stats_.decode_tokens += static_cast<int64_t>(tokens_.size() - before);
    }
  }
  const int64_t token = ready_.front();
  ready_.pop_front();
  if (is_end(token)) return finish(FinishReason::EndToken);
  ++returned_;
  ++stats_.generated_tokens;
  return token;
}

bool Generation::prefill() {
  KVCache& cache = context_->cache;
  const std::optional<Tensor> logits = feed(
      *model_, std::span(tokens_).subspan(static_cast<size_t>(cache.length)), cache, options_.is_cancelled);
  note_context();
  if (!logits) return false;
  is_prefilled_ = true;
  const int64_t token = sampler_.sample(row_of(*logits, 0), tokens_);
  tokens_.push_back(token);
  ready_.push_back(token);
  return true;
}

void Generation::plain_step() {
  const auto start = Clock::now();
  renew_long_text(*model_, context_->cache, 1);
  const Tensor logits = *feed(
      *model_, std::span(tokens_).subspan(static_cast<size_t>(context_->cache.length)), context_->cache);
  note_context();
  const int64_t token = sampler_.sample(row_of(logits, 0), tokens_);
  tokens_.push_back(token);
  ready_.push_back(token);
  plain_seconds_ += seconds_since(start);
  ++plain_tokens_;
}

bool Generation::wants_speculation() const {
  if ((!options_.draft && !options_.prompt_lookup) || stats_.speculation_stopped) return false;
  if (options_.adaptive_speculation && plain_tokens_ < kProbeTokens) return false;
  const int64_t room =
      std::min(context_->cache.capacity - context_->cache.length, options_.max_new_tokens - returned_);
  if (options_.draft &&
      context_->draft_cache.capacity < static_cast<int64_t>(tokens_.size()) + options_.speculate_k)
    return false;
  return room > options_.speculate_k + 1;
}

void Generation::judge_speculation() {
  if (!options_.adaptive_speculation ||
      (speculative_tokens_ < kJudgedTokens && speculative_rounds_ < kJudgedRounds))
    return;
  stats_.plain_seconds_per_token = plain_seconds_ / static_cast<double>(plain_tokens_);
  stats_.speculative_seconds_per_token = speculative_seconds_ / static_cast<double>(speculative_tokens_);
  stats_.speculation_stopped =
      model_->agreed(stats_.speculative_seconds_per_token > stats_.plain_seconds_per_token);
  speculative_tokens_ = speculative_rounds_ = 0;
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

// The draft's tokens, and the distributions they were drawn from (none for looked-up tokens, which are
// certain).
std::vector<int64_t> Generation::propose(std::vector<std::vector<float>>& distributions) {
  if (!options_.draft) return look_up();
  std::vector<int64_t> history = tokens_, proposed;
  for (int64_t i = 0; i < options_.speculate_k; ++i) {
    KVCache& cache = context_->draft_cache;
    const Tensor logits =
        *feed(*options_.draft, std::span(history).subspan(static_cast<size_t>(cache.length)), cache);
    distributions.push_back(sampler_.probabilities(row_of(logits, 0), history));
    proposed.push_back(sampler_.options().is_greedy() ? argmax(distributions.back())
                                                      : sampler_.draw(distributions.back()));
    history.push_back(proposed.back());
  }
  return proposed;
}

// source: Leviathan et al. 2023, algorithm 1: a proposed token is kept with probability min(1, p / q), and
// replaced by one drawn from max(0, p - q) otherwise, so that what comes out is distributed as p.
void Generation::speculative_round() {
  const auto start = Clock::now();
  std::vector<std::vector<float>> drafts;
  const std::vector<int64_t> proposed = propose(drafts);
  const std::optional<int64_t> from = model_->long_text_from();
  const auto whole = static_cast<int64_t>(tokens_.size() + proposed.size());
  // The step that makes a text long computes it anew, on its own.
  if (proposed.empty() || (from && context_->cache.text <= *from && whole > *from)) return plain_step();
  std::vector<int64_t> fed = {tokens_.back()};
  fed.insert(fed.end(), proposed.begin(), proposed.end());
  KVCache& cache = context_->cache;
  const int64_t before = cache.length;
  cache.text = std::max(cache.text, before + 1);
  const Tensor logits = model_->forward(fed, cache, true);
  size_t accepted = 0;
  while (true) {
    std::vector<float> target =
        sampler_.probabilities(row_of(logits, static_cast<int64_t>(accepted)), tokens_);
    int64_t token = 0;
    bool is_kept = false;
    if (accepted < proposed.size()) {
      token = proposed[accepted];
      const float p = target[static_cast<size_t>(token)],
                  q = drafts.empty() ? 1.0f : drafts[accepted][static_cast<size_t>(token)];
      is_kept = p >= q || sampler_.uniform() * q < p;
      if (!is_kept) {
        float total = 0;
        for (size_t i = 0; i < target.size(); ++i) {
          const float own =
              drafts.empty() ? (static_cast<int64_t>(i) == token ? 1.0f : 0.0f) : drafts[accepted][i];
          total += target[i] = std::max(0.0f, target[i] - own);
        }
        if (total <= 0)
          target =
              sampler_.probabilities(row_of(logits, static_cast<int64_t>(accepted)), tokens_);  // rounding
      }
    }
    if (!is_kept) token = sampler_.options().is_greedy() ? argmax(target) : sampler_.draw(target);
    tokens_.push_back(token);
    ready_.push_back(token);
    if (!is_kept) break;
    ++accepted;
    if (is_end(token)) break;
  }
  cache.length = before + 1 + static_cast<int64_t>(accepted);
  if (options_.draft) context_->draft_cache.length = std::min(context_->draft_cache.length, cache.length);
  note_context();
  const int64_t emitted = static_cast<int64_t>(ready_.size());
  ++stats_.rounds;
  stats_.proposed += static_cast<int64_t>(proposed.size());
  stats_.accepted += static_cast<int64_t>(accepted);
  speculative_tokens_ += emitted;
  ++speculative_rounds_;
  speculative_seconds_ += seconds_since(start);
  judge_speculation();
}

void check_tokenizer(const CausalModel& model, const Tokenizer& tokenizer, const std::string& folder) {
  // Rows of the embedding are padded to round numbers; files name a few special tokens that the model never
  // had.
  constexpr int64_t kSpecial = 256, kPadding = 1024;
  const int64_t tokens = tokenizer.vocab_size(), rows = model.config().vocab_size;
  WEFT_CHECK(
      tokens <= rows + kSpecial && rows <= 2 * tokens + kPadding,
      fmt::format(
          "{}the tokenizer has {} tokens, and the model's vocab_size is {}: they do not belong together",
          folder.empty() ? "" : fmt::format("'{}': ", folder), tokens, rows));
}

StopText::StopText(std::vector<std::string> stop) : stop_(std::move(stop)) {
  for (const std::string& text : stop_) WEFT_CHECK(!text.empty(), "generate: a stop string is empty");
}

std::string StopText::push(const std::string& text, bool is_end) {
  held_ += text;
  for (const std::string& stop : stop_)
    if (const size_t at = held_.find(stop); at != std::string::npos) {
      held_.erase(at);
      is_stopped_ = true;
    }
  size_t kept = 0;
  if (!is_end && !is_stopped_)
    for (const std::string& stop : stop_)
      for (size_t length = std::min(stop.size() - 1, held_.size()); length > kept; --length)
        if (held_.ends_with(std::string_view(stop).substr(0, length))) kept = length;
  std::string given = held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return given;
}

std::vector<int64_t> end_tokens(const CausalModel& model, const Tokenizer& tokenizer) {
  std::vector<int64_t> ends = model.config().eos_token_ids;
  for (const int64_t id : tokenizer.eos_ids()) ends.push_back(id);
  return ends;
}

std::vector<IdRange> used_ids(const CausalModel& model, const Tokenizer& tokenizer) {
  std::vector<IdRange> ranges;
  const int64_t rows = model.config().vocab_size;
  for (int64_t id = 0; id < rows; ++id) {
    if (!tokenizer.has_token(id)) continue;
    if (ranges.empty() || ranges.back().end < id) ranges.push_back({id, id});
    ranges.back().end = id + 1;
  }
  return ranges;
}

TextGeneration::TextGeneration(std::shared_ptr<const CausalModel> model,
                               std::shared_ptr<const Tokenizer> tokenizer, std::vector<int64_t> prompt,
                               GenerationOptions options, std::vector<std::string> stop)
    : generation_(model, std::move(prompt),
                  [&] {
                    if (options.eos_token_ids.empty()) options.eos_token_ids = end_tokens(*model, *tokenizer);
                    if (options.ids.empty()) options.ids = used_ids(*model, *tokenizer);
                    return std::move(options);
                  }()),
      decoder_(tokenizer, generation_.tokens().size() == 1 && tokenizer->bos_id() == generation_.tokens()[0]),
      stop_(std::move(stop)) {
  check_tokenizer(*model, *tokenizer, "");
}

std::optional<std::string> TextGeneration::next() {
  if (is_finished_) return std::nullopt;
  const std::optional<int64_t> token = generation_.next();
  const std::string text = stop_.push(token ? decoder_.push(*token) : decoder_.finish(), !token);
  is_finished_ = !token || stop_.is_stopped();
  return text;
}

}  // namespace weft::models
