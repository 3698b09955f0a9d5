// What an engine makes of a step's logits: tokens, text, events.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "serve/engine_text.h"
#include "weft/error.h"
#include "weft/parallel.h"

namespace weft::serve {
namespace {

constexpr int64_t kNoToken = -1;  // what is sampled where the grammar's text is whole

// Logits of the tokens that the mask has; false where there are none.
bool copy_masked(std::span<const float> logits, const TokenMask& mask, std::vector<float>& masked) {
  masked.assign(logits.size(), -std::numeric_limits<float>::infinity());
  bool is_any = false;
  for (size_t word = 0; word < mask.size(); ++word) {
    const size_t first = word * 64;
    is_any = is_any || mask[word] != 0;
    if (mask[word] == ~uint64_t{0} && first + 64 <= logits.size())
      std::copy_n(logits.begin() + static_cast<ptrdiff_t>(first), 64,
                  masked.begin() + static_cast<ptrdiff_t>(first));
    else
      for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
        const size_t token = first + static_cast<size_t>(std::countr_zero(bits));
        masked[token] = logits[token];
      }
  }
  return is_any;
}

// log(sum of exp(logits)) over `ids`.
double log_sum(std::span<const float> logits, const std::vector<int64_t>& ids) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const int64_t id : ids) largest = std::max(largest, logits[static_cast<size_t>(id)]);
  double sum = 0;
  for (const int64_t id : ids)
    sum += std::exp(static_cast<double>(logits[static_cast<size_t>(id)] - largest));
  return std::log(sum) + largest;
}

// Of the tokens that may be written.
WrittenToken with_likelihoods(std::span<const float> logits, std::span<const models::IdRange> ids,
                              int64_t token, int64_t count) {
  std::vector<int64_t> order;
  for (const models::IdRange& range : ids)
    for (int64_t id = range.begin; id < range.end; ++id) order.push_back(id);
  const double all = log_sum(logits, order);
  const auto likelihood = [&](int64_t id) {
    return Likelihood{id, static_cast<float>(logits[static_cast<size_t>(id)] - all)};
  };
  const auto kept = static_cast<ptrdiff_t>(std::min<size_t>(static_cast<size_t>(count), order.size()));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](int64_t a, int64_t b) {
    const float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left > right || (left == right && a < b);
  });
  WrittenToken written{.token = likelihood(token), .likeliest = {}};
  for (ptrdiff_t i = 0; i < kept; ++i) written.likeliest.push_back(likelihood(order[static_cast<size_t>(i)]));
  return written;
}

}  // namespace

// The next token: of those that the text's grammar allows, where it has one.
void Engine::sample(Text& text, std::span<const float> logits) const {
  Grammar* const grammar = text.job->request.grammar.get();
  if (grammar == nullptr) {
    text.sampled = text.sampler.sample(logits, text.tokens);
    return;
  }
  text.sampled = kNoToken;
  if (grammar->is_complete(text.grammar_state)) return;
  bool is_any = copy_masked(logits, *grammar->mask(text.grammar_state), text.masked);
  if (grammar->is_accepting(text.grammar_state))
    for (const int64_t end : ends_)
      if (end < static_cast<int64_t>(logits.size())) {
        text.masked[static_cast<size_t>(end)] = logits[static_cast<size_t>(end)];
        is_any = true;
      }
  WEFT_CHECK(is_any, "no token of the vocabulary goes on with the text as its grammar asks");
  text.sampled = text.sampler.sample(text.masked, text.tokens);
  if (std::find(ends_.begin(), ends_.end(), text.sampled) == ends_.end())
    text.grammar_state = grammar->after(text.grammar_state, text.sampled);
}

std::shared_ptr<const TokenTrie> Engine::make_token_trie(const std::vector<int64_t>& marks) const {
  return std::make_shared<TokenTrie>(*tokenizer_, ids_, ends_, marks);
}

void Engine::sample() {
  std::vector<Text*> texts;
  for (auto& text : running_)
    if (text->logits != nullptr && text->error.empty()) texts.push_back(text.get());
  parallel_for(0, static_cast<int64_t>(texts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Text& text = *texts[static_cast<size_t>(i)];
      const std::span logits(text.logits, static_cast<size_t>(model_->config().vocab_size));
      attempt(text, EngineStep::Sample, [&] {
        sample(text, logits);
        if (text.job->request.likeliest_tokens && text.sampled != kNoToken)
          text.written = with_likelihoods(logits, ids_, text.sampled, *text.job->request.likeliest_tokens);
      });
    }
  });
}

// What the token that was sampled gives, and the text with it.
Event Engine::written_event(Text& text) {
  using models::FinishReason;
  const Request& request = text.job->request;
  Event event{.choice = text.choice};
  const bool is_end =
      text.sampled == kNoToken || ((request.grammar || !request.ignore_eos) &&
                                   std::find(ends_.begin(), ends_.end(), text.sampled) != ends_.end());
  text.tokens.push_back(text.sampled);
  if (is_end) {
    event.finish = FinishReason::EndToken;
  } else {
    ++text.generated;
    if (request.likeliest_tokens) event.tokens.push_back(std::move(text.written));
    if (request.grammar && request.grammar->is_complete(text.grammar_state))
      event.finish = FinishReason::EndToken;
    else if (text.generated >= request.max_tokens)
      event.finish = FinishReason::Length;
    else if (text.length() >= options_.context)
      event.finish = FinishReason::ContextFull;
  }
  std::string piece = is_end ? "" : text.decoder.push(text.sampled);
  if (event.finish != FinishReason::None) piece += text.decoder.finish();
  event.text = text.stop.push(piece, event.finish != FinishReason::None);
  if (text.stop.is_stopped()) event.finish = FinishReason::StopText;
  event.generated_tokens = text.generated;
  return event;
}

void Engine::deliver(Text& text) {
  Job& job = *text.job;
  const auto now = Clock::now();
  Event event;
  if (!attempt(text, EngineStep::Write, [&] { event = written_event(text); })) return;
  if (event.finish != models::FinishReason::None) {
    release(text);
    text.is_over = true;
    event.is_last = --job.left == 0;
  }
  metrics_.update([&](Metrics& metrics) {
    const auto seconds = [&](Clock::time_point since) {
      return std::chrono::duration<double>(now - since).count();
    };
    if (text.generated == 1 && text.last_token == Clock::time_point{} && text.choice == 0)
      metrics.first_token.add(seconds(job.arrival));
    else if (text.last_token != Clock::time_point{})
      metrics.between_tokens.add(seconds(text.last_token));
    metrics.now.generated_tokens += 1;
    if (!event.is_last) return;
    ++(job.has_failed ? metrics.now.failed : metrics.now.finished);
    metrics.whole_request.add(seconds(job.arrival));
  });
  text.last_token = now;
  if (job.request.on_event) attempt(text, EngineStep::Write, [&] { job.request.on_event(event); });
}

// The states of a step's rows of a text that is pooled.
void Engine::pool(Text& text, int64_t first_row) {
  const Pooling pooling = text.job->request.pooling;
  if (pooling == Pooling::First && text.computed > 0) return;
  const bool is_mean = pooling == Pooling::Mean;
  text.pooled.resize(static_cast<size_t>(model_->config().hidden_size));
  const int64_t end = pooling == Pooling::First ? 1 : text.rows;
  for (int64_t i = pooling == Pooling::Last ? text.rows - 1 : 0; i < end; ++i) {
    const std::span<const float> state = batch_->state_of(first_row + i);
    for (size_t d = 0; d < state.size(); ++d) text.pooled[d] = (is_mean ? text.pooled[d] : 0) + state[d];
  }
}

void Engine::deliver_embedding(Text& text) {
  Job& job = *text.job;
  const double count = job.request.pooling == Pooling::Mean ? static_cast<double>(text.length()) : 1;
  Event event{.choice = text.choice, .is_last = true};
  event.finish = models::FinishReason::EndToken;
  for (const double sum : text.pooled) event.embedding.push_back(static_cast<float>(sum / count));
  release(text);
  text.is_over = true;
  --job.left;
  metrics_.update([&](Metrics& metrics) {
    ++metrics.now.finished;
    metrics.whole_request.add(std::chrono::duration<double>(Clock::now() - job.arrival).count());
  });
  if (job.request.on_event) attempt(text, EngineStep::Write, [&] { job.request.on_event(event); });
}

void Engine::note_figures(double seconds) {
  int64_t queued = 0;
  {
    const std::scoped_lock lock(mutex_);
    queued = static_cast<int64_t>(submitted_.size());
  }
  metrics_.update([&](Metrics& metrics) {
    Figures& now = metrics.now;
    now.running = static_cast<int64_t>(running_.size());
    now.waiting = static_cast<int64_t>(waiting_.size()) + queued;
    now.pages_held = pool_->held();
    now.pages_kept = pool_->kept();
    if (seconds == 0) return;
    ++now.steps;
    now.step_seconds += seconds;
    constexpr double kWeight = 1.0 / 32;
    now.recent_step_seconds =
        now.recent_step_seconds == 0 ? seconds : now.recent_step_seconds * (1 - kWeight) + seconds * kWeight;
    now.computed_tokens += static_cast<int64_t>(rows_.size());
    metrics.rows.add(static_cast<double>(rows_.size()));
  });
}

}  // namespace weft::serve
