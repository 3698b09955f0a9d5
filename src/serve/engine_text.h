// What an engine keeps of its requests and their texts.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serve/engine.h"

namespace weft::serve {

using Clock = std::chrono::steady_clock;

struct Engine::Job {
  uint64_t number = 0;
  Request request;
  Clock::time_point arrival;
  int64_t left = 0;  // texts that have not ended
  bool has_begun = false, has_failed = false;
};

struct Engine::Text {
  Text(std::shared_ptr<Job> of, int64_t number, std::shared_ptr<const models::Tokenizer> tokenizer,
       const std::vector<models::IdRange>& ids)
      : job(std::move(of)),
        choice(number),
        tokens(job->request.prompt),
        sampler(
            [this] {
              models::SamplingOptions sampling = job->request.sampling;
              sampling.seed += static_cast<uint64_t>(choice);
              sampling.penalties_from = length();
              return sampling;
            }(),
            ids),
        // Of a text that a grammar describes no space is taken away.
        decoder(tokenizer, !job->request.grammar && tokens.size() == 1 && tokenizer->bos_id() == tokens[0],
                job->request.shown_tokens),
        stop(job->request.stop),
        grammar_state(job->request.grammar ? job->request.grammar->start() : 0) {}

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  // Tokens that are not in the cache: one while the text is written, more of a prompt, and of a text that
  // gave its pages away.
  int64_t uncomputed() const { return length() - computed; }

  std::shared_ptr<Job> job;
  int64_t choice;
  std::vector<int64_t> tokens;  // prompt and text
  models::Sampler sampler;
  models::StreamDecoder decoder;
  models::StopText stop;
  int32_t grammar_state;           // after the text so far
  std::vector<float> masked = {};  // logits of the tokens that the grammar allows
  int64_t generated = 0;
  std::vector<double> pooled = {};  // the sum of the states so far, or the last one

  std::vector<int32_t> pages;
  int64_t computed = 0;   // tokens whose keys and values are in them
  int64_t published = 0;  // pages
  int32_t slot = -1;      // of a model that has them; -1: none
  int64_t unborn = 0;     // further texts of the request, which begin where the prompt ends

  // Of a step.
  int64_t rows = 0;
  const float* logits = nullptr;
  std::vector<float> own_logits;  // where its rows were computed by themselves
  int64_t sampled = 0;
  WrittenToken written;
  std::string error;
  Clock::time_point last_token = {};
  bool is_over = false;
};

}  // namespace weft::serve
