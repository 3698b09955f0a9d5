// Texts written side by side: requests join and leave between the steps of one model.
//
//   Engine engine(model, tokenizer, {.max_batch = 16});
//   engine.submit({.prompt = tokenizer->encode("Once"), .on_event = [](const Event& event) { … }});
//   while (engine.step()) {}
//
// A step computes one token of each text that is being written, and a part of prompts that are not read yet;
// it reads the weights once. Keys and values lie in pages of one cache, whose size is set at the start. A
// request's text is the one it would have alone: what a row gives does not depend on the others. What a step
// throws for a request ends that request, with an error event and a line in the log.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "models/page_pool.h"
#include "models/paged_batch.h"
#include "serve/grammar.h"
#include "serve/metrics.h"
#include "weft/models/generation.h"

namespace weft::serve {

// What an engine does for its requests: Commands and Figures for all of them, the rest for each.
enum class EngineStep : uint8_t {
  Commands,
  Begin,
  Admit,
  Plan,
  Compute,
  Publish,
  Fork,
  Sample,
  Write,
  Figures,
  kCount
};

struct EngineOptions {
  int64_t max_batch = 16;    // texts written at once
  int64_t context = 0;       // tokens of a text, its prompt included; 0: the model's positions
  int64_t cache_tokens = 0;  // that the cache holds; 0: max_batch * context, as far as 4 GiB reach
  int64_t page_tokens = 16;
  int64_t prompt_tokens = 64;         // of prompts in a step in which texts are written
  int64_t prompt_tokens_alone = 256;  // in others
  int64_t max_queue = 256;            // requests that wait
  // Called before each step, with the request that it is for; 0: for all. What it throws ends what a step
  // that throws ends. By several threads at once.
  std::function<void(EngineStep step, uint64_t request)> on_step = nullptr;
};

struct Likelihood {
  int64_t token;
  float log_probability;
};

struct WrittenToken {
  Likelihood token;
  std::vector<Likelihood> likeliest = {};  // the most likely tokens in its place
};

// What becomes of a text's states where it is not written on: their mean, the last, or the first.
enum class Pooling : uint8_t { None, Mean, Last, First };

// What a step gave one text of a request. Text and tokens are those since the event before.
struct Event {
  int64_t choice = 0;
  std::string text = {};                  // whole characters
  std::vector<WrittenToken> tokens = {};  // where log probabilities were asked for
  int64_t generated_tokens = 0;           // of the text so far
  models::FinishReason finish = models::FinishReason::None;
  bool is_last = false;               // of the request
  std::string error = {};             // what went wrong; the text ends
  std::vector<float> embedding = {};  // of a text that is pooled, with its only event
};

struct Request {
  std::vector<int64_t> prompt = {};
  int64_t max_tokens = 16;
  models::SamplingOptions sampling = {};  // of the first text; the seed of the next is one more
  std::vector<std::string> stop = {};
  std::vector<std::pair<int64_t, std::string>> shown_tokens = {};  // special ones that are text
  bool ignore_eos = false;
  std::shared_ptr<Grammar> grammar = nullptr;    // what the text may be; it ends where that ends
  int64_t choices = 1;                           // texts
  std::optional<int64_t> likeliest_tokens = {};  // log probabilities, with so many alternatives
  Pooling pooling = Pooling::None;               // of the prompt; nothing is written
  // Called by the thread that steps, between two steps. What it throws ends the request.
  std::function<void(const Event&)> on_event = nullptr;
};

class Engine {
 public:
  // ValueError for options that do not fit the model or each other.
  Engine(std::shared_ptr<const models::CausalModel> model, std::shared_ptr<const models::Tokenizer> tokenizer,
         EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The request's number; nothing where the queue is full. ValueError for a request that cannot be met. May
  // be called by any thread.
  std::optional<uint64_t> submit(Request request);
  // Its texts end without an event, and their pages are free before the next step. May be called by any
  // thread, also for a request that has ended.
  void cancel(uint64_t request);

  // Computes one step; false where there is nothing to do.
  bool step();
  // A thread that steps as long as there is something to do, until stop(), which cancels what is left.
  void start();
  void stop();

  const EngineOptions& options() const { return options_; }
  // The vocabulary for grammars of requests: of tokens that may be written.
  std::shared_ptr<const TokenTrie> make_token_trie(const std::vector<int64_t>& marks) const;
  Metrics& metrics() { return metrics_; }
  int64_t hidden_size() const { return model_->config().hidden_size; }  // of embeddings
  int64_t cache_bytes() const { return batch_->cache_bytes(); }
  const models::PagePool& pages() const { return *pool_; }  // between steps

 private:
  struct Job;
  struct Text;
  using Texts = std::vector<std::unique_ptr<Text>>;

  bool run_step();
  void take_commands();
  void remove_job(uint64_t request);
  void admit();
  bool admit(std::unique_ptr<Text>& text);
  int64_t pages_for(int64_t tokens) const;
  int64_t promised_pages() const;
  bool make_room(Text& text, int64_t position);
  void preempt_last();
  void plan_step();
  void plan_rows(Text& text, int64_t count);
  void note_computed(Text& text);
  void fork(size_t index);
  int32_t free_slot() const;
  void compute();
  void pool(Text& text, int64_t first_row);
  void deliver_embedding(Text& text);
  void sample();
  void sample(Text& text, std::span<const float> logits) const;
  Event written_event(Text& text);
  void deliver(Text& text);
  void release(Text& text);
  void tell(EngineStep step, uint64_t request) const;
  // Runs a step of the text, whose error is then what it throws; false with an error.
  bool attempt(Text& text, EngineStep step, const std::function<void()>& run) const;
  // Ends the text, and those of its request that have not begun, with its error.
  void fail(Text& text);
  void fail(Job& job, int64_t choice, int64_t texts, const std::string& error);
  void fail_all(const std::string& error);
  void remove_failed();
  void note_figures(double seconds);

  std::shared_ptr<const models::CausalModel> model_;
  std::shared_ptr<const models::Tokenizer> tokenizer_;
  EngineOptions options_;
  std::vector<int64_t> ends_;
  std::vector<models::IdRange> ids_;  // that may be written
  std::unique_ptr<models::PagedBatch> batch_;
  std::unique_ptr<models::PagePool> pool_;
  Metrics metrics_;

  // Of the thread that steps; both in the order in which they came.
  Texts running_;
  std::deque<std::unique_ptr<Text>> waiting_;
  std::vector<models::PagedBatch::Row> rows_;

  // Shared with threads that submit.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Job>> submitted_;
  std::vector<uint64_t> cancelled_;
  int64_t queued_ = 0;  // requests that wait, submitted ones included
  uint64_t next_number_ = 1;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::serve
