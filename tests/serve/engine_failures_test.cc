// What a step of an engine throws ends the request that it is for, and no other.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include "models/support.h"
#include "models/tokenizers.h"
#include "serve/engine.h"

namespace weft::serve {
namespace {

using models::FinishReason;
using models::CausalModel;
using ::testing::HasSubstr;

const char* name(EngineStep step) {
  constexpr const char* kNames[] = {"Commands", "Begin", "Admit",  "Plan",  "Compute",
                                    "Publish",  "Fork",  "Sample", "Write", "Figures"};
  static_assert(std::size(kNames) == static_cast<size_t>(EngineStep::kCount));
  return kNames[static_cast<size_t>(step)];
}

struct Outcome {
  std::map<int64_t, std::string> texts;
  std::string error;
  int events_after_the_end = 0, lasts = 0;
};

class EngineFailures : public ::testing::Test {
 protected:
  Request request(Outcome& outcome, int64_t seed, int64_t choices) const {
    Request made{.prompt = {1, 2, 3, seed},
                 .max_tokens = 12,
                 .sampling = {.temperature = 1, .seed = static_cast<uint64_t>(seed)},
                 .choices = choices,
                 .likeliest_tokens = 3};
    made.on_event = [&outcome](const Event& event) {
      outcome.events_after_the_end += outcome.lasts > 0;
      outcome.texts[event.choice] += event.text;
      if (!event.error.empty()) outcome.error = event.error;
      outcome.lasts += event.is_last;
    };
    return made;
  }
  std::map<int64_t, std::string> alone(int64_t seed, int64_t choices) const {
    Outcome outcome;
    Engine engine(model, tokenizer, {.page_tokens = 4});
    engine.submit(request(outcome, seed, choices));
    while (engine.step()) {
    }
    EXPECT_EQ(outcome.error, "");
    return outcome.texts;
  }
  static void expect_empty(const Engine& engine) {
    EXPECT_EQ(engine.pages().held(), 0);
    EXPECT_EQ(engine.pages().available(), engine.pages().size());
  }

  std::shared_ptr<const CausalModel> model = CausalModel::random(models::small_config("llama"), {.dtype = "float32"}, 3);
  std::shared_ptr<const models::Tokenizer> tokenizer =
      models::parse_tokenizer_json(models::tokenizer_text(60, {17, 18, 40}), "test");
};

class EngineFailuresAt : public EngineFailures, public ::testing::WithParamInterface<int> {};

// In the step's first run for the request, and in a later one, where the text is under way.
TEST_P(EngineFailuresAt, EndTheRequestAlone) {
  const auto step = static_cast<EngineStep>(GetParam());
  const bool is_of_all = step == EngineStep::Commands || step == EngineStep::Figures;
  const bool is_once = step == EngineStep::Begin || step == EngineStep::Admit || step == EngineStep::Fork;
  for (const int64_t choices : {1, 3}) {
    if (step == EngineStep::Fork && choices == 1) continue;
    for (const int later : {0, 3}) {
      if (later > 0 && is_once) continue;
      std::atomic<int> calls = 0;
      const uint64_t meant = is_of_all ? 0 : 2;
      bool is_on = true;
      EngineOptions options{.page_tokens = 4, .prompt_tokens = 8, .prompt_tokens_alone = 8};
      options.on_step = [&](EngineStep now, uint64_t number) {
        if (is_on && now == step && number == meant && calls++ >= later)
          throw std::runtime_error("out of luck");
      };
      Engine engine(model, tokenizer, options);
      std::map<int64_t, Outcome> outcomes;
      for (const int64_t seed : {5, 6, 7}) engine.submit(request(outcomes[seed], seed, choices));
      while (engine.step()) {
      }
      for (auto& [seed, outcome] : outcomes) {
        const std::string where = std::string(name(step)) + ", seed " + std::to_string(seed) + ", " +
                                  std::to_string(choices) + " choices, later " + std::to_string(later);
        const bool fails = is_of_all || seed == 6;
        EXPECT_EQ(outcome.error, fails ? "out of luck" : "") << where;
        EXPECT_EQ(outcome.lasts, 1) << where;
        EXPECT_EQ(outcome.events_after_the_end, 0) << where;
        if (!fails) {
          EXPECT_EQ(outcome.texts, alone(seed, choices)) << where;
        }
      }
      expect_empty(engine);
      const Figures figures = engine.metrics().figures();
      EXPECT_EQ(figures.failed, is_of_all ? 3 : 1);
      EXPECT_EQ(figures.finished, is_of_all ? 0 : 2);
      // The engine goes on, with room for as many requests as before.
      is_on = false;
      Outcome next;
      ASSERT_TRUE(engine.submit(request(next, 6, choices)));
      while (engine.step()) {
      }
      EXPECT_EQ(next.texts, alone(6, choices)) << name(step);
      expect_empty(engine);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, EngineFailuresAt, ::testing::Range(0, static_cast<int>(EngineStep::kCount)),
                         [](const auto& info) {
                           return std::string(name(static_cast<EngineStep>(info.param)));
                         });

TEST_F(EngineFailures, EveryStepIsTold) {
  std::mutex mutex;
  std::set<EngineStep> told;
  EngineOptions options{.page_tokens = 4};
  options.on_step = [&](EngineStep step, uint64_t) {
    const std::scoped_lock lock(mutex);
    told.insert(step);
  };
  Engine engine(model, tokenizer, options);
  Outcome outcome;
  engine.submit(request(outcome, 5, 2));
  while (engine.step()) {
  }
  EXPECT_EQ(told.size(), static_cast<size_t>(EngineStep::kCount));
}

// A listener that throws at every event, those of its error among them.
TEST_F(EngineFailures, ListenersThatThrow) {
  for (const int later : {0, 4, 11}) {
    Engine engine(model, tokenizer, {.page_tokens = 4});
    Outcome other, own;
    Request bad = request(own, 6, 1);
    int events = 0;
    bad.on_event = [&](const Event&) {
      if (events++ >= later) throw std::runtime_error("nobody listens");
    };
    engine.submit(request(other, 5, 1));
    engine.submit(bad);
    while (engine.step()) {
    }
    EXPECT_EQ(events, later + 2);
    EXPECT_EQ(other.texts, alone(5, 1));
    EXPECT_EQ(other.lasts, 1);
    expect_empty(engine);
  }
}

// All in the thread, which must not end.
TEST_F(EngineFailures, TheThreadGoesOn) {
  std::atomic<int> calls = 0;
  EngineOptions options{.max_batch = 2, .page_tokens = 4, .max_queue = 64};
  options.on_step = [&](EngineStep, uint64_t) {
    if (++calls % 13 == 0) throw std::runtime_error("out of luck");
  };
  Engine engine(model, tokenizer, options);
  engine.start();
  std::mutex mutex;
  std::condition_variable changed;
  int lasts = 0, failed = 0;
  for (int i = 0; i < 40; ++i) {
    Request made{.prompt = {1, 2, i}, .max_tokens = 5};
    made.on_event = [&](const Event& event) {
      const std::scoped_lock lock(mutex);
      lasts += event.is_last;
      failed += !event.error.empty();
      changed.notify_all();
    };
    ASSERT_TRUE(engine.submit(made));
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return lasts == 40; });
  }
  EXPECT_GT(failed, 0);
  engine.stop();
}

// Log probabilities of more tokens than there are: of those alone.
TEST_F(EngineFailures, LikelihoodsAreOfTokens) {
  Engine engine(model, tokenizer);
  std::vector<WrittenToken> written;
  Request made{.prompt = {1, 61, 95, 17}, .max_tokens = 20, .sampling = {.temperature = 20, .seed = 3}};
  made.likeliest_tokens = 90;
  std::string text, error;
  made.on_event = [&](const Event& event) {
    for (const WrittenToken& token : event.tokens) written.push_back(token);
    text += event.text;
    error += event.error;
  };
  engine.submit(made);
  while (engine.step()) {
  }
  EXPECT_EQ(error, "");
  ASSERT_EQ(written.size(), 20);
  models::StreamDecoder decoder(tokenizer);
  std::string expected;
  for (const WrittenToken& token : written) {
    expected += decoder.push(token.token.token);
    ASSERT_EQ(token.likeliest.size(), 57);  // 60 without three
    double sum = 0;
    for (const Likelihood& likely : token.likeliest) {
      EXPECT_TRUE(tokenizer->has_token(likely.token));
      sum += std::exp(static_cast<double>(likely.log_probability));
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace weft::serve
