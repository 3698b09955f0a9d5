#include "serve/metrics.h"

#include "serve/metrics_text.h"

namespace weft::serve {

void Histogram::add(double value) {
  size_t at = 0;
  while (at < bounds_.size() && value > bounds_[at]) ++at;
  ++counts_[at];
  ++count_;
  sum_ += value;
}

std::string Histogram::text(const char* name, const char* help) const {
  std::string text = metric_header(name, "histogram", help);
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i)
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below += counts_[i]);
  return text + fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, count_, name, sum_,
                            name, count_);
}

Figures Metrics::figures() const {
  const std::scoped_lock lock(mutex_);
  return now;
}

std::string Metrics::text() const {
  const std::scoped_lock lock(mutex_);
  std::string text = metric_header("weft_requests_total", "counter",
                                   "Requests that ended, by how; those refused found the queue full.");
  for (const auto& [outcome, count] : {std::pair{"finished", now.finished},
                                       {"cancelled", now.cancelled},
                                       {"failed", now.failed},
                                       {"refused", now.refused}})
    text += fmt::format("weft_requests_total{{outcome=\"{}\"}} {}\n", outcome, count);
  text += counter("weft_prompt_tokens_total", "Tokens of prompts.", now.prompt_tokens);
  text += counter("weft_reused_tokens_total", "Tokens of prompts that the cache held already.",
                  now.reused_tokens);
  text += counter("weft_computed_tokens_total", "Rows that steps computed.", now.computed_tokens);
  text += counter("weft_generated_tokens_total", "Tokens written.", now.generated_tokens);
  text += counter("weft_steps_total", "Passes over the weights.", now.steps);
  text += counter("weft_step_seconds_total", "Time in them.", now.step_seconds);
  text += counter("weft_preemptions_total", "Texts that gave their pages away, to be computed again.",
                  now.preemptions);
  text += counter("weft_copied_pages_total", "Pages that were shared when they were written to.",
                  now.copied_pages);
  text += gauge("weft_texts_running", "Texts in the batch.", now.running);
  text += gauge("weft_texts_waiting", "Texts in the queue.", now.waiting);
  text += gauge("weft_cache_bytes", "Memory of keys and values.", now.cache_bytes);
  text += gauge("weft_cache_page_tokens", "Tokens of a page.", now.page_tokens);
  text += metric_header("weft_cache_pages", "gauge",
                        "Pages, by what they are for: held by texts, kept for later ones, empty.");
  for (const auto& [state, count] : {std::pair{"held", now.pages_held},
                                     {"kept", now.pages_kept},
                                     {"empty", now.pages - now.pages_held - now.pages_kept}})
    text += fmt::format("weft_cache_pages{{state=\"{}\"}} {}\n", state, count);
  text += gauge("weft_weight_bytes", "Bytes of weights that a step reads.", now.weight_bytes);
  text += gauge("weft_read_bandwidth_bytes_per_second",
                "With which this machine reads memory, measured at start.", now.read_gbs * 1e9);
  const double bound = now.recent_step_seconds * now.read_gbs * 1e9;
  text += gauge("weft_model_bandwidth_utilization",
                "Of the last steps: bytes of weights per second, as a share of that.",
                bound > 0 ? static_cast<double>(now.weight_bytes) / bound : 0.0);
  text +=
      first_token.text("weft_time_to_first_token_seconds", "From a request's arrival to its first token.");
  text += between_tokens.text("weft_time_per_token_seconds", "Between two tokens of a text.");
  text += whole_request.text("weft_request_seconds", "From a request's arrival to its end.");
  text += rows.text("weft_step_rows", "Rows of a step: texts that are being written, and tokens of prompts.");
  return text;
}

}  // namespace weft::serve
