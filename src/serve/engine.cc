#include "serve/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/rounding.h"
#include "serve/engine_text.h"
#include "weft/error.h"

namespace weft::serve {
namespace {

constexpr int64_t kMostCacheBytes = int64_t{4} << 30;  // unless asked for more
constexpr int64_t kMostLikeliest = 100;

EngineOptions completed(EngineOptions options, const models::CausalModel& model) {
  const auto at_least_one = [](const char* name, int64_t value) {
    WEFT_CHECK(value >= 1, fmt::format("serve: {} must be at least 1, got {}", name, value));
  };
  at_least_one("max_batch", options.max_batch), at_least_one("page_tokens", options.page_tokens);
  at_least_one("prompt_tokens", options.prompt_tokens), at_least_one("max_queue", options.max_queue);
  options.prompt_tokens_alone = std::max(options.prompt_tokens, options.prompt_tokens_alone);
  if (options.context == 0) options.context = model.max_positions();
  WEFT_CHECK(options.context >= 2 && options.context <= model.max_positions(),
             fmt::format("serve: the context must be between 2 and the model's {} positions, got {}",
                         model.max_positions(), options.context));
  const int64_t bytes = models::PagedBatch::cache_bytes_per_token(model);
  if (options.cache_tokens == 0)
    options.cache_tokens =
        std::max(options.context, std::min(options.max_batch * options.context, kMostCacheBytes / bytes));
  options.cache_tokens = ceil_div(options.cache_tokens, options.page_tokens) * options.page_tokens;
  WEFT_CHECK(options.cache_tokens >= options.context,
             fmt::format("serve: a cache of {} tokens does not hold a context of {}", options.cache_tokens,
                         options.context));
  return options;
}

}  // namespace

Engine::Engine(std::shared_ptr<const models::CausalModel> model,
               std::shared_ptr<const models::Tokenizer> tokenizer, EngineOptions options)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      options_(completed(options, *model_)),
      ends_(models::end_tokens(*model_, *tokenizer_)),
      ids_(models::used_ids(*model_, *tokenizer_)) {
  models::check_tokenizer(*model_, *tokenizer_, "");
  const int64_t pages = options_.cache_tokens / options_.page_tokens;
  batch_ = std::make_unique<models::PagedBatch>(model_, pages, options_.page_tokens,
                                                options_.max_batch + options_.prompt_tokens_alone,
                                                options_.max_batch);
  pool_ = std::make_unique<models::PagePool>(pages, options_.page_tokens);
  metrics_.update([&](Metrics& metrics) {
    metrics.now.pages = pages;
    metrics.now.page_tokens = options_.page_tokens;
    metrics.now.cache_bytes = batch_->cache_bytes();
    metrics.now.weight_bytes = model_->bytes_per_token();
  });
}

Engine::~Engine() { stop(); }

std::optional<uint64_t> Engine::submit(Request request) {
  const int64_t prompt = static_cast<int64_t>(request.prompt.size());
  WEFT_CHECK(prompt > 0, "the prompt has no tokens");
  WEFT_CHECK(prompt < options_.context,
             fmt::format("the prompt has {} tokens, the context of {} leaves no room for new ones", prompt,
                         options_.context));
  for (const int64_t token : request.prompt)
    WEFT_CHECK(token >= 0 && token < model_->config().vocab_size,
               fmt::format("the prompt's token {} is not in the vocabulary of {}", token,
                           model_->config().vocab_size));
  WEFT_CHECK(request.max_tokens >= 1,
             fmt::format("max_tokens must be at least 1, got {}", request.max_tokens));
  WEFT_CHECK(request.choices >= 1 && request.choices <= options_.max_batch,
             fmt::format("n must be between 1 and {}, got {}", options_.max_batch, request.choices));
  WEFT_CHECK(!request.likeliest_tokens ||
                 (*request.likeliest_tokens >= 0 && *request.likeliest_tokens <= kMostLikeliest),
             fmt::format("logprobs must be between 0 and {}", kMostLikeliest));
  request.sampling.check();
  for (const auto& [token, bias] : request.sampling.biases)
    WEFT_CHECK(token < model_->config().vocab_size,
               fmt::format("logit_bias: the token {} is not in the vocabulary of {}", token,
                           model_->config().vocab_size));
  WEFT_CHECK(request.pooling == Pooling::None || batch_->has_states(),
             "embeddings are computed on the CPU, and this model is on another device");
  models::StopText{request.stop};  // checks them
  auto job = std::make_shared<Job>();
  job->left = request.choices;
  job->request = std::move(request);
  job->arrival = Clock::now();
  bool is_refused = false;
  {
    const std::scoped_lock lock(mutex_);
    is_refused = queued_ >= options_.max_queue || is_stopping_;
    if (!is_refused) {
      ++queued_;
      job->number = next_number_++;
      submitted_.push_back(job);
    }
  }
  metrics_.update([&](Metrics& metrics) { ++(is_refused ? metrics.now.refused : metrics.now.requests); });
  if (is_refused) return std::nullopt;
  changed_.notify_one();
  return job->number;
}

void Engine::cancel(uint64_t request) {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_.push_back(request);
  }
  changed_.notify_one();
}

void Engine::start() {
  WEFT_ASSERT(!thread_.joinable(), "the engine was started twice");
  is_stopping_ = false;
  thread_ = std::thread([this] {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        if (running_.empty() && waiting_.empty())
          changed_.wait(lock, [&] { return is_stopping_ || !submitted_.empty() || !cancelled_.empty(); });
        if (is_stopping_) return;
      }
      step();
    }
  });
}

void Engine::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (auto& text : running_) release(*text);
  running_.clear();
  waiting_.clear();
  const std::scoped_lock lock(mutex_);
  submitted_.clear();
  queued_ = 0;
}

void Engine::take_commands() {
  std::vector<std::shared_ptr<Job>> submitted;
  std::vector<uint64_t> cancelled;
  {
    const std::scoped_lock lock(mutex_);
    submitted.swap(submitted_);
    cancelled.swap(cancelled_);
  }
  for (const auto& job : submitted) {
    try {
      tell(EngineStep::Begin, job->number);
      auto text = std::make_unique<Text>(job, 0, tokenizer_, ids_);
      text->unborn = job->request.choices - 1;
      waiting_.push_back(std::move(text));
    } catch (const std::exception& failure) {
      fail(*job, 0, job->left, failure.what());
    }
  }
  for (const uint64_t request : cancelled) remove_job(request);
}

void Engine::remove_job(uint64_t request) {
  const auto is_of = [&](const auto& text) { return text->job->number == request; };
  bool was_there = false, has_begun = false;
  for (auto& text : running_)
    if (is_of(text)) {
      release(*text);
      was_there = has_begun = true;
    }
  for (auto& text : waiting_)
    if (is_of(text)) {
      was_there = true;
      has_begun = has_begun || text->job->has_begun;
    }
  if (!was_there) return;
  std::erase_if(running_, is_of);
  std::erase_if(waiting_, is_of);
  if (!has_begun) {
    const std::scoped_lock lock(mutex_);
    --queued_;
  }
  metrics_.update([](Metrics& metrics) { ++metrics.now.cancelled; });
}

void Engine::release(Text& text) {
  pool_->release_all(text.pages);
  text.pages.clear();
  text.computed = text.published = 0;
  text.pooled.clear();
  text.slot = -1;
}

int64_t Engine::pages_for(int64_t tokens) const { return ceil_div(tokens, options_.page_tokens); }

// Pages that texts in the batch will need for what they have to read.
int64_t Engine::promised_pages() const {
  int64_t pages = 0;
  for (const auto& text : running_)
    pages += text->unborn +
             std::max<int64_t>(0, pages_for(text->length() + 1) - static_cast<int64_t>(text->pages.size()));
  return pages;
}

// First come, first served: a request that does not fit yet holds those behind it.
void Engine::admit() {
  while (!waiting_.empty()) {
    int64_t texts = 1 + waiting_.front()->unborn;
    for (const auto& text : running_) texts += 1 + text->unborn;
    if (texts > options_.max_batch) return;
    bool is_admitted = false;
    Text& first = *waiting_.front();
    if (!attempt(first, EngineStep::Admit, [&] { is_admitted = admit(waiting_.front()); })) {
      // What fails once it is among those that run is removed with them.
      if (waiting_.front() != nullptr) fail(first);
      is_admitted = true;
    }
    if (!is_admitted) return;
    waiting_.pop_front();
  }
}

bool Engine::admit(std::unique_ptr<Text>& text) {
  // No states are kept, and a mean is of all; nor is what a text of a model with slots has there.
  const Pooling pooling = text->job->request.pooling;
  const bool begins_anew = pooling == Pooling::Mean || pooling == Pooling::First || batch_->has_slots();
  std::vector<int32_t> prefix = begins_anew ? std::vector<int32_t>() : pool_->hold_prefix(text->tokens);
  // The last token is computed in any case: its logits are what follows.
  if (!prefix.empty() && static_cast<int64_t>(prefix.size()) * options_.page_tokens >= text->length()) {
    pool_->release(prefix.back());
    prefix.pop_back();
  }
  const int64_t needed =
      pages_for(text->length() + 1) - static_cast<int64_t>(prefix.size()) + text->unborn + promised_pages();
  if (needed > pool_->available() && !running_.empty()) {
    pool_->release_all(prefix);
    return false;
  }
  text->published = static_cast<int64_t>(prefix.size());
  text->computed = text->published * options_.page_tokens;
  text->pages = std::move(prefix);
  if (batch_->has_slots()) text->slot = free_slot();
  if (!text->job->has_begun) {
    text->job->has_begun = true;
    const std::scoped_lock lock(mutex_);
    --queued_;
  }
  metrics_.update([&](Metrics& metrics) {
    if (text->generated == 0) metrics.now.prompt_tokens += text->length();
    metrics.now.reused_tokens += text->computed;
  });
  const auto place = std::find_if(running_.begin(), running_.end(), [&](const auto& other) {
    return other->job->number > text->job->number ||
           (other->job->number == text->job->number && other->choice > text->choice);
  });
  running_.insert(place, std::move(text));
  return true;
}

int32_t Engine::free_slot() const {
  std::vector<bool> is_taken(static_cast<size_t>(options_.max_batch));
  for (const auto& text : running_)
    if (text->slot >= 0) is_taken[static_cast<size_t>(text->slot)] = true;
  const auto slot = std::find(is_taken.begin(), is_taken.end(), false);
  WEFT_ASSERT(slot != is_taken.end(), "more texts than the batch holds");
  return static_cast<int32_t>(slot - is_taken.begin());
}

// A page for `position` that nobody else reads; false where there is none left.
bool Engine::make_room(Text& text, int64_t position) {
  const auto index = static_cast<size_t>(position / options_.page_tokens);
  if (index < text.pages.size() && pool_->is_own(text.pages[index])) return true;
  const std::optional<int32_t> page = pool_->take();
  if (!page) return false;
  if (index == text.pages.size()) {
    text.pages.push_back(*page);
    return true;
  }
  batch_->copy_page(text.pages[index], *page);
  pool_->release(text.pages[index]);
  text.pages[index] = *page;
  text.published = std::min(text.published, static_cast<int64_t>(index));
  metrics_.update([](Metrics& metrics) { ++metrics.now.copied_pages; });
  return true;
}

// The text that came last gives its pages away and waits at the front of the queue.
void Engine::preempt_last() {
  WEFT_ASSERT(!running_.empty(), "a text alone has pages for its whole context");
  std::unique_ptr<Text> text = std::move(running_.back());
  running_.pop_back();
  release(*text);
  text->rows = 0;
  waiting_.push_front(std::move(text));
  metrics_.update([](Metrics& metrics) { ++metrics.now.preemptions; });
}

void Engine::plan_rows(Text& text, int64_t count) {
  attempt(text, EngineStep::Plan, [&] {
    while (text.rows < count && make_room(text, text.computed + text.rows)) ++text.rows;
  });
  if (!text.error.empty()) text.rows = 0;
}

// One token of every text that is being written; then parts of prompts, shorter ones first, of which each
// has its share: none waits for a long one.
void Engine::plan_step() {
  for (auto& text : running_) text->rows = 0;
  int64_t writing = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    if (running_[i]->uncomputed() != 1) continue;
    plan_rows(*running_[i], 1);
    while (i < running_.size() && running_[i]->rows == 0 && running_[i]->error.empty()) {
      preempt_last();
      if (i < running_.size()) plan_rows(*running_[i], 1);
    }
    ++writing;
  }
  std::vector<Text*> reading;
  for (auto& text : running_)
    if (text->uncomputed() > 1) reading.push_back(text.get());
  std::stable_sort(reading.begin(), reading.end(),
                   [](const Text* a, const Text* b) { return a->uncomputed() < b->uncomputed(); });
  int64_t left = writing > 0 ? options_.prompt_tokens : options_.prompt_tokens_alone;
  for (size_t i = 0; i < reading.size() && left > 0; ++i) {
    const int64_t share = std::max<int64_t>(1, left / static_cast<int64_t>(reading.size() - i));
    plan_rows(*reading[i], std::min(share, reading[i]->uncomputed()));
    left -= reading[i]->rows;
  }
  rows_.clear();
  for (auto& text : running_)
    for (int64_t i = 0; i < text->rows; ++i) {
      const int64_t position = text->computed + i;
      rows_.push_back(
          {.token = text->tokens[static_cast<size_t>(position)],
           .position = position,
           .pages = text->pages.data(),
           .wants_logits = position + 1 == text->length() && text->job->request.pooling == Pooling::None,
           .slot = text->slot});
    }
}

// Pages that became full can be found by later texts.
void Engine::note_computed(Text& text) {
  text.computed += text.rows;
  if (batch_->has_slots()) return;  // pages alone are not what a text has read
  for (; (text.published + 1) * options_.page_tokens <= text.computed; ++text.published) {
    const auto index = static_cast<size_t>(text.published);
    const int32_t before = index == 0 ? models::PagePool::kNone : text.pages[index - 1];
    text.pages[index] = pool_->publish(before,
                                       std::span(text.tokens)
                                           .subspan(index * static_cast<size_t>(options_.page_tokens),
                                                    static_cast<size_t>(options_.page_tokens)),
                                       text.pages[index]);
  }
}

// The request's other texts begin with the prompt's pages and logits.
void Engine::fork(size_t index) {
  Text& first = *running_[index];
  running_.reserve(running_.size() + static_cast<size_t>(first.unborn));
  for (; first.unborn > 0; --first.unborn) {
    auto text = std::make_unique<Text>(first.job, first.unborn, tokenizer_, ids_);
    text->pages.reserve(first.pages.size());
    for (const int32_t page : first.pages) pool_->hold(page);
    text->pages = first.pages;
    text->computed = first.computed;
    text->published = first.published;
    text->logits = first.logits;
    if (batch_->has_slots()) {
      text->slot = free_slot();
      batch_->copy_slot(first.slot, text->slot);
    }
    running_.insert(running_.begin() + static_cast<ptrdiff_t>(index) + 1, std::move(text));
  }
}

// All rows together; where that throws, those of each text by themselves, so that the one it is for is known.
void Engine::compute() {
  std::vector<Text*> texts;
  for (auto& text : running_)
    if (text->rows > 0) texts.push_back(text.get());
  std::span<const float> logits;
  bool is_separate = false;
  try {
    for (const Text* text : texts) tell(EngineStep::Compute, text->job->number);
    logits = batch_->forward(rows_);
  } catch (const std::exception&) {
    is_separate = true;
  }
  const float* next = logits.data();
  auto first_row = rows_.cbegin();
  for (Text* text : texts) {
    const auto row = first_row;
    first_row += text->rows;
    const bool is_read = text->computed + text->rows == text->length();
    if (is_separate) {
      const auto run = [&] {
        const auto own = batch_->forward(std::span(row, static_cast<size_t>(text->rows)));
        text->own_logits.assign(own.begin(), own.end());
      };
      if (!attempt(*text, EngineStep::Compute, run)) continue;
    }
    if (text->job->request.pooling != Pooling::None) {
      const int64_t first = is_separate ? 0 : row - rows_.cbegin();
      attempt(*text, EngineStep::Publish, [&] {
        pool(*text, first);
        note_computed(*text);
      });
      continue;
    }
    const float* const own = is_separate ? text->own_logits.data() : next;
    if (is_read && !is_separate) next += model_->config().vocab_size;
    if (attempt(*text, EngineStep::Publish, [&] { note_computed(*text); }) && is_read) text->logits = own;
  }
  for (size_t i = 0; i < running_.size(); ++i) {
    Text& text = *running_[i];
    if (text.logits != nullptr && text.unborn > 0) attempt(text, EngineStep::Fork, [&] { fork(i); });
  }
}

bool Engine::step() {
  try {
    return run_step();
  } catch (const std::exception& failure) {
    fail_all(failure.what());
    return false;
  }
}

bool Engine::run_step() {
  tell(EngineStep::Commands, 0);
  take_commands();
  admit();
  remove_failed();
  if (running_.empty()) {
    note_figures(0);
    return !waiting_.empty();
  }
  plan_step();
  remove_failed();
  if (rows_.empty()) {
    if (!running_.empty()) preempt_last();
    return true;
  }
  const auto start = Clock::now();
  for (auto& text : running_) text->logits = nullptr;
  compute();
  sample();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (auto& text : running_)
    if (text->logits != nullptr && text->error.empty()) deliver(*text);
  for (auto& text : running_)
    if (text->job->request.pooling != Pooling::None && text->uncomputed() == 0 && text->error.empty())
      deliver_embedding(*text);
  remove_failed();
  std::erase_if(running_, [](const auto& text) { return text->is_over; });
  tell(EngineStep::Figures, 0);
  note_figures(seconds);
  return true;
}

}  // namespace weft::serve
