// Tokens one after the other, with speculation if that pays.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/causal_model.h"
#include "weft/models/sampling.h"
#include "weft/models/tokenizer.h"

namespace weft::models {

// What a model has computed of a text, kept from one generation to the next: of a prompt that begins alike,
// only the rest is computed. Another model or draft begins anew. It serves the generation that was begun
// last; earlier ones cannot go on.
struct Context {
  KVCache cache, draft_cache;
  std::vector<int64_t> tokens;  // that `cache` holds
  std::weak_ptr<const CausalModel> model, draft;
  uint64_t generations = 0;  // begun in it
  std::mutex mutex;          // held by a generation while it computes
};

struct GenerationOptions {
  int64_t max_new_tokens = 256;
  SamplingOptions sampling = {};
  std::vector<int64_t> eos_token_ids = {};  // those of the configuration where empty
  bool ignore_eos = false;
  // The ids that may be written, in order; all where empty. TextGeneration: those of the tokenizer.
  std::vector<IdRange> ids = {};
  // Speculative decoding: a smaller model of the same vocabulary, or tokens looked up in the text so far.
  std::shared_ptr<const CausalModel> draft = nullptr;
  bool prompt_lookup = false;
  int64_t speculate_k = 4;  // tokens proposed at a time, at most 7
  // Stop speculating when it has measured slower than plain decoding. Decides about time only: but sampled
  // text is then not the same in every run, as the random numbers are used differently.
  bool adaptive_speculation = true;
  // Of an earlier generation, or an empty one to be filled for later ones.
  std::shared_ptr<Context> context = nullptr;
  // Asked between blocks of a long prompt: true ends the generation.
  std::function<bool()> is_cancelled = nullptr;
};

// Why a text ended.
enum class FinishReason : uint8_t { None, EndToken, StopText, Length, ContextFull, Cancelled };
const char* name(FinishReason reason);  // "end_token", …; "" for None

struct GenerationStats {
  int64_t prompt_tokens = 0, generated_tokens = 0;
  int64_t kept_tokens = 0;                         // of the prompt, that the context held
  double prefill_seconds = 0, decode_seconds = 0;  // decode: from the first token on
  int64_t decode_tokens = 0;                       // that decode_seconds were for
  int64_t proposed = 0, accepted = 0, rounds = 0;  // of speculation
  bool speculation_stopped = false;                // it measured slower
  FinishReason finish_reason = FinishReason::None;
  double plain_seconds_per_token = 0, speculative_seconds_per_token = 0;
};

// One text being written. ValueError for no prompt, a prompt longer than the model's positions, a draft of
// another vocabulary, and for going on after another generation began in the same context.
class Generation {
 public:
  Generation(std::shared_ptr<const CausalModel> model, std::vector<int64_t> prompt,
             GenerationOptions options = {});
  ~Generation();

  // The next token; nullopt after an end token, max_new_tokens, or when the cache is full. End tokens are not
  // returned.
  std::optional<int64_t> next();
  // The prompt and what was generated.
  const std::vector<int64_t>& tokens() const { return tokens_; }
  const GenerationStats& stats() const { return stats_; }

 private:
  void begin_context();
  void note_context();
  std::optional<int64_t> finish(FinishReason reason);
  bool is_end(int64_t token) const;
  bool prefill();
  void plain_step();
  void speculative_round();
  std::vector<int64_t> propose(std::vector<std::vector<float>>& distributions);
  std::vector<int64_t> look_up() const;
  bool wants_speculation() const;
  void judge_speculation();

  std::shared_ptr<const CausalModel> model_;
  GenerationOptions options_;
  Sampler sampler_;
  std::shared_ptr<Context> context_;
  uint64_t generation_number_ = 0;  // in the context
  std::vector<int64_t> tokens_;     // prompt and generated, those in `ready_` included
  std::deque<int64_t> ready_;       // generated and not yet returned
  int64_t returned_ = 0;
  bool is_prefilled_ = false;
  int64_t plain_tokens_ = 0, speculative_tokens_ = 0, speculative_rounds_ = 0;
  double plain_seconds_ = 0, speculative_seconds_ = 0;
  GenerationStats stats_;
};

// ValueError where the tokenizer has tokens that the model has not, or the model many more than the
// tokenizer. `folder` is named in the message.
void check_tokenizer(const CausalModel& model, const Tokenizer& tokenizer, const std::string& folder);

// Text piece by piece, up to where the first of some strings begins.
class StopText {
 public:
  // ValueError for an empty string.
  explicit StopText(std::vector<std::string> stop);
  // What may be given on of the text so far: what may be the beginning of a stop string waits for the rest,
  // until the end.
  std::string push(const std::string& text, bool is_end);
  bool is_stopped() const { return is_stopped_; }

 private:
  std::vector<std::string> stop_;
  std::string held_;
  bool is_stopped_ = false;
};

// The tokens that end a text: the configuration's and the tokenizer's.
std::vector<int64_t> end_tokens(const CausalModel& model, const Tokenizer& tokenizer);

// The model's ids that stand for tokens. Its vocabulary may be padded, and the tokenizer's have gaps: such
// ids are never written.
std::vector<IdRange> used_ids(const CausalModel& model, const Tokenizer& tokenizer);

// A Generation as text: whole characters, and nothing of a stop string.
class TextGeneration {
 public:
  TextGeneration(std::shared_ptr<const CausalModel> model, std::shared_ptr<const Tokenizer> tokenizer,
                 std::vector<int64_t> prompt, GenerationOptions options = {},
                 std::vector<std::string> stop = {});
  // The next piece of text, perhaps empty; nullopt at the end.
  std::optional<std::string> next();
  const Generation& generation() const { return generation_; }
  FinishReason finish_reason() const {
    return stop_.is_stopped() ? FinishReason::StopText : generation_.stats().finish_reason;
  }

 private:
  Generation generation_;
  StreamDecoder decoder_;
  StopText stop_;
  bool is_finished_ = false;
};

}  // namespace weft::models
