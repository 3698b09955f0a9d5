// What becomes of a request that one of an engine's steps throws for: it ends, and the others go on.
#include <fmt/format.h>

#include "runtime/log.h"
#include "serve/engine_text.h"

namespace weft::serve {

void Engine::tell(EngineStep step, uint64_t request) const {
  if (options_.on_step) options_.on_step(step, request);
}

bool Engine::attempt(Text& text, EngineStep step, const std::function<void()>& run) const {
  if (!text.error.empty()) return false;
  try {
    tell(step, text.job->number);
    run();
    return true;
  } catch (const std::exception& failure) {
    text.error = *failure.what() == '\0' ? "a step failed" : failure.what();
    return false;
  }
}

void Engine::fail(Text& text) {
  release(text);
  const int64_t texts = text.is_over ? 0 : 1 + text.unborn;
  text.unborn = 0;
  text.is_over = true;
  fail(*text.job, text.choice, texts, text.error);
}

// `texts`: those that end now, the one with the error among them.
void Engine::fail(Job& job, int64_t choice, int64_t texts, const std::string& error) {
  if (!job.has_begun) {
    job.has_begun = true;
    const std::scoped_lock lock(mutex_);
    --queued_;
  }
  job.left -= texts;
  job.has_failed = true;
  const bool is_last = job.left == 0;
  log::warning(fmt::format("serve: request {} ends with an error: {}", job.number, error));
  if (is_last && texts > 0)
    metrics_.update([&](Metrics& metrics) {
      ++metrics.now.failed;
      metrics.whole_request.add(std::chrono::duration<double>(Clock::now() - job.arrival).count());
    });
  if (!job.request.on_event) return;
  try {
    job.request.on_event({.choice = choice, .is_last = is_last, .error = error});
  } catch (const std::exception& failure) {
    log::warning(fmt::format("serve: request {} could not be told: {}", job.number, failure.what()));
  }
}

// What is of no single request ends all that are there; those that come later are served, by an empty cache.
void Engine::fail_all(const std::string& error) {
  const auto end = [&](auto& texts) {
    for (auto& text : texts) {
      if (text == nullptr || text->is_over) continue;
      text->error = error;
      text->pages.clear();
      fail(*text);
    }
    texts.clear();
  };
  end(running_), end(waiting_);
  std::vector<std::shared_ptr<Job>> submitted;
  {
    const std::scoped_lock lock(mutex_);
    submitted.swap(submitted_);
    cancelled_.clear();
  }
  for (const auto& job : submitted) fail(*job, 0, job->left, error);
  rows_.clear();
  pool_ = std::make_unique<models::PagePool>(pool_->size(), options_.page_tokens);
}

void Engine::remove_failed() {
  for (auto& text : running_)
    if (!text->error.empty()) fail(*text);
  std::erase_if(running_, [](const auto& text) { return !text->error.empty(); });
}

}  // namespace weft::serve
