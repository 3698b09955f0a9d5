#include "weft/models/generation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "models/support.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

DecoderConfig config_of(int64_t layers, int64_t vocab = 32) {
  DecoderConfig config = named_config("tiny");
  config.num_layers = layers;
  config.vocab_size = vocab;
  config.max_position_embeddings = 256;
  return config;
}

Ids all_of(Generation&& generation) {
  Ids ids;
  while (const auto token = generation.next()) ids.push_back(*token);
  return ids;
}

GenerationOptions always(GenerationOptions options) {
  options.adaptive_speculation = false;
  options.ignore_eos = true;
  return options;
}

TEST(Sampling, Order) {
  const std::vector<float> logits = {1, 3, 2, -1};
  const auto probabilities = [&](SamplingOptions options) {
    return Sampler(options).probabilities(logits, Ids{1});
  };
  EXPECT_THAT(probabilities({}), ::testing::ElementsAre(0, 1, 0, 0));
  const auto soft = probabilities({.temperature = 2});
  EXPECT_NEAR(soft[1] / soft[2], std::exp(0.5), 1e-5);
  const auto top = probabilities({.temperature = 1, .top_k = 2});
  EXPECT_EQ(top[0] + top[3], 0);
  EXPECT_NEAR(top[1], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_THAT(probabilities({.temperature = 1, .top_p = 0.5}), ::testing::ElementsAre(0, 1, 0, 0));
  EXPECT_GT(probabilities({.temperature = 1, .top_p = 0.7})[2], 0);
  EXPECT_THAT(probabilities({.temperature = 1, .min_p = 0.5}), ::testing::ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(probabilities({.repetition_penalty = 2}), ::testing::ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(error_of([] { Sampler({.temperature = -1}); }),
              HasSubstr("temperature must be at least 0, got -1"));
  EXPECT_THAT(error_of([] { Sampler({.top_p = 0}); }), HasSubstr("top_p must be above 0"));
  EXPECT_THAT(error_of([] { Sampler({.top_k = -2}); }), HasSubstr("top_k must be at least 0"));
  const std::vector<float> nan(4, NAN);
  EXPECT_THAT(error_of([&] { Sampler({}).sample(nan, {}); }), HasSubstr("the logits are all NaN"));
}

TEST(Sampling, SeedsRepeat) {
  const std::vector<float> logits(50, 0.0f);
  Sampler a({.temperature = 1, .seed = 5}), b({.temperature = 1, .seed = 5}),
      c({.temperature = 1, .seed = 6});
  Ids from_a, from_b, from_c;
  for (int i = 0; i < 20; ++i)
    from_a.push_back(a.sample(logits, {})), from_b.push_back(b.sample(logits, {})),
        from_c.push_back(c.sample(logits, {}));
  EXPECT_EQ(from_a, from_b);
  EXPECT_NE(from_a, from_c);
}

TEST(Generation, GreedyWithDraftIsGreedyWithout) {
  const auto model = CausalModel::random(config_of(3), {.dtype = "float32"}),
             draft = CausalModel::random(config_of(1), {.dtype = "float32"}, 7);
  const Ids prompt = {1, 2, 3, 1, 2, 3};
  const Ids plain = all_of(Generation(model, prompt, always({.max_new_tokens = 100})));
  ASSERT_EQ(plain.size(), 100u);
  for (int64_t k = 1; k <= 7; ++k) {
    EXPECT_EQ(
        all_of(Generation(model, prompt, always({.max_new_tokens = 100, .draft = draft, .speculate_k = k}))),
        plain)
        << k;
    EXPECT_EQ(all_of(Generation(model, prompt,
                                always({.max_new_tokens = 100, .prompt_lookup = true, .speculate_k = k}))),
              plain)
        << k;
  }
  Generation own(model, prompt, always({.max_new_tokens = 64, .draft = model, .speculate_k = 3}));
  while (own.next()) {
  }
  EXPECT_EQ(own.stats().accepted, own.stats().proposed);  // the model agrees with itself
}

// Chi-square of the third token, whose distribution is known: once by plain sampling, once with speculation.
TEST(Generation, SpeculationKeepsTheDistribution) {
  const auto model = CausalModel::random(config_of(1, 12), {.dtype = "float32"}, 3),
             draft = CausalModel::random(config_of(1, 12), {.dtype = "float32"}, 4);
  const Ids prompt = {1, 5};
  const SamplingOptions sampling{.temperature = 1.5};
  const auto probabilities_after = [&](const Ids& ids) {
    KVCache cache = model->make_cache();
    const Tensor logits = model->forward(ids, cache);
    return Sampler(sampling).probabilities({logits.data_as<float>(), 12}, ids);
  };
  // P(second token) over all first ones, P(third token) over all pairs.
  std::vector<double> third(12, 0.0);
  const auto first = probabilities_after(prompt);
  for (int64_t a = 0; a < 12; ++a) {
    const auto second = probabilities_after({1, 5, a});
    for (int64_t b = 0; b < 12; ++b) {
      const auto last = probabilities_after({1, 5, a, b});
      for (int64_t c = 0; c < 12; ++c) third[c] += double{first[a]} * second[b] * last[c];
    }
  }
  constexpr int kRuns = 4000;
  constexpr double kLimit = 31.26;  // chi-square with 11 degrees of freedom exceeds it once in a thousand
  for (const bool with_draft : {false, true, true}) {
    static int round = 0;
    const bool looked_up = ++round == 3;
    std::vector<int> counts(12, 0);
    for (int run = 0; run < kRuns; ++run) {
      GenerationOptions options = always({.max_new_tokens = 10, .sampling = sampling, .speculate_k = 3});
      options.sampling.seed = static_cast<uint64_t>(run) + 1;
      if (with_draft && !looked_up) options.draft = draft;
      options.prompt_lookup = looked_up;
      Generation generation(model, prompt, options);
      generation.next(), generation.next();
      ++counts[*generation.next()];
    }
    double chi_square = 0;
    for (size_t i = 0; i < counts.size(); ++i)
      chi_square += std::pow(counts[i] - kRuns * third[i], 2) / (kRuns * third[i]);
    EXPECT_LT(chi_square, kLimit) << "round " << round;
  }
}

TEST(Generation, Ends) {
  const auto model = CausalModel::random(config_of(1), {.dtype = "float32", .max_positions = 12});
  const Ids plain = all_of(Generation(model, {1}, {.max_new_tokens = 100, .ignore_eos = true}));
  EXPECT_EQ(plain.size(), 12u);  // the cache is full
  EXPECT_EQ(all_of(Generation(model, {1}, {.max_new_tokens = 3})), Ids(plain.begin(), plain.begin() + 3));
  EXPECT_TRUE(all_of(Generation(model, {1}, {.max_new_tokens = 0})).empty());
  EXPECT_TRUE(all_of(Generation(model, {1}, {.eos_token_ids = {plain[0]}})).empty());
  EXPECT_THAT(error_of([&] { Generation(model, {}, {}); }), HasSubstr("the prompt has no tokens"));
  EXPECT_THAT(error_of([&] { Generation(model, Ids(12, 1), {}); }),
              HasSubstr("the prompt has 12 tokens, the model's context 12 leaves no room"));
  EXPECT_THAT(error_of([&] { Generation(model, {1}, {.max_new_tokens = -1}); }),
              HasSubstr("max_new_tokens must be at least 0"));
  const auto other = CausalModel::random(config_of(1, 40));
  EXPECT_THAT(error_of([&] { Generation(model, {1}, {.draft = other}); }),
              HasSubstr("the draft model has a vocabulary of 40, the model one of 32"));
  EXPECT_THAT(error_of([&] { Generation(model, {1}, {.draft = model, .speculate_k = 9}); }),
              HasSubstr("speculate_k must be between 1 and 7"));
}

TEST(Generation, ContextIsComputedOnce) {
  const auto model = CausalModel::random(config_of(2), {.dtype = "float32"}),
             draft = CausalModel::random(config_of(1), {.dtype = "float32"}, 7);
  for (const bool with_draft : {false, true}) {
    const auto context = std::make_shared<Context>();
    GenerationOptions options = always({.max_new_tokens = 12, .speculate_k = 3});
    if (with_draft) options.draft = draft;
    GenerationOptions kept = options;
    kept.context = context;
    Ids text = {1, 2, 3};
    for (int turn = 0; turn < 4; ++turn) {
      const Ids plain = all_of(Generation(model, text, options));
      Generation generation(model, text, kept);
      EXPECT_EQ(generation.stats().kept_tokens,
                static_cast<int64_t>(text.size()) - (turn == 0 ? 3 : turn + 1))
          << turn;
      Ids ids;
      while (const auto token = generation.next()) ids.push_back(*token);
      EXPECT_EQ(ids, plain) << turn;
      text.insert(text.end(), ids.begin(), ids.end());
      for (int i = 0; i < turn + 1; ++i)
        text.push_back(30 - i);  // the new turn; the last answer's last token is not computed yet
    }
    Generation changed(model, {1, 2, 9, 9}, kept);
    EXPECT_EQ(changed.stats().kept_tokens, 2);
    EXPECT_EQ(
        Generation(draft, {1, 2, 9, 9}, with_draft ? always({.context = context}) : kept).stats().kept_tokens,
        0);  // another model
  }
}

TEST(Generation, ContextServesTheLastGeneration) {
  const auto model = CausalModel::random(config_of(2), {.dtype = "float32"});
  const auto context = std::make_shared<Context>();
  const GenerationOptions options = {.max_new_tokens = 20, .ignore_eos = true, .context = context};
  const Ids expected = all_of(Generation(model, {4}, {.max_new_tokens = 20, .ignore_eos = true}));
  Generation first(model, {1, 2, 3}, options);
  for (int i = 0; i < 10; ++i) first.next();
  Generation second(model, {4}, options);
  EXPECT_THAT(error_of([&] { first.next(); }),
              HasSubstr("generate: another text was begun in the same context"));
  EXPECT_EQ(all_of(std::move(second)), expected);
}

TEST(Generation, ContextOfManyThreads) {
  const auto model = CausalModel::random(config_of(1), {.dtype = "float32"});
  const GenerationOptions options = {
      .max_new_tokens = 10, .ignore_eos = true, .context = std::make_shared<Context>()};
  const Ids expected = all_of(Generation(model, {1, 2}, {.max_new_tokens = 10, .ignore_eos = true}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      try {
        for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(all_of(Generation(model, {1, 2}, options)), expected);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another text was begun"));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all_of(Generation(model, {1, 2}, options)), expected);
}

TEST(Generation, SaysWhyItEnded) {
  const auto model = CausalModel::random(config_of(1), {.dtype = "float32", .max_positions = 12});
  const auto reason = [&](GenerationOptions options) {
    Generation generation(model, {1}, std::move(options));
    EXPECT_EQ(generation.stats().finish_reason, FinishReason::None);
    while (generation.next()) {
    }
    return generation.stats().finish_reason;
  };
  EXPECT_EQ(reason({.max_new_tokens = 3, .ignore_eos = true}), FinishReason::Length);
  EXPECT_EQ(reason({.ignore_eos = true}), FinishReason::ContextFull);
  const int64_t first = *Generation(model, {1}, {.ignore_eos = true}).next();
  EXPECT_EQ(reason({.eos_token_ids = {first}}), FinishReason::EndToken);
  DecoderConfig config = config_of(1);
  config.max_position_embeddings = 2048;
  Generation cancelled(CausalModel::random(config, {.dtype = "float32"}), Ids(1200, 1),
                       {.is_cancelled = [] { return true; }});
  EXPECT_EQ(cancelled.next(), std::nullopt);
  EXPECT_EQ(cancelled.stats().finish_reason, FinishReason::Cancelled);
}

TEST(TextGeneration, StopsBeforeTheText) {
  WEFT_NEEDS_STORIES();
  const auto model = CausalModel::from_pretrained(stories());
  const auto tokenizer = Tokenizer::open(stories());
  const auto text_of = [&](std::vector<std::string> stop) {
    TextGeneration generation(model, tokenizer, {1}, {.max_new_tokens = 60}, std::move(stop));
    std::string text;
    while (const auto piece = generation.next()) text += *piece;
    return text;
  };
  EXPECT_THAT(text_of({}), ::testing::StartsWith("Once upon a time, there was a little girl named Lily."));
  EXPECT_EQ(text_of({" girl"}), "Once upon a time, there was a little");
  EXPECT_EQ(text_of({"nothing like it", "a time,"}), "Once upon ");
}

}  // namespace
}  // namespace weft::models
