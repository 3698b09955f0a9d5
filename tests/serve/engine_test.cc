#include "serve/engine.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "models/support.h"

namespace weft::serve {
namespace {

using models::error_of;
using models::FinishReason;
using models::CausalModel;
using models::stories;
using models::Tokenizer;
using ::testing::Each;
using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

struct Written {
  std::string text;
  FinishReason finish = FinishReason::None;
  int64_t tokens = 0;
  std::vector<WrittenToken> likelihoods;
};

// What requests were answered, by request and text.
class Answers {
 public:
  Request listening(Request request) {
    const size_t number = answers_.size();
    answers_.emplace_back();
    lasts_.push_back(0);
    request.on_event = [this, number](const Event& event) {
      Written& written = answers_[number][event.choice];
      EXPECT_EQ(written.finish, FinishReason::None) << "an event after the end";
      EXPECT_EQ(event.error, "");
      written.text += event.text;
      written.finish = event.finish;
      written.tokens = event.generated_tokens;
      for (const WrittenToken& token : event.tokens) written.likelihoods.push_back(token);
      lasts_[number] += event.is_last ? 1 : 0;
    };
    return request;
  }
  const Written& operator()(size_t request, int64_t choice = 0) { return answers_.at(request)[choice]; }
  size_t events() const { return answers_.size(); }
  // How often a request's last event came: once.
  int last(size_t request) const { return lasts_.at(request); }

 private:
  std::vector<std::map<int64_t, Written>> answers_;
  std::vector<int> lasts_;
};

models::ModelOptions options_of(const std::string& scheme) {
  models::ModelOptions options;
  (scheme.starts_with("int") ? options.quantize : options.dtype) = scheme;
  return options;
}

std::vector<std::string> prompts() {
  return {"Once upon a time",
          "Tom and Lily",
          "",
          "Once upon a time there was a little girl named Lily. She had a red ball and a big dog named Max.",
          "The sun",
          "Once upon a time there was a little girl named Lily. She had a red ball and a small cat.",
          "One day, a boy went to the park with his mom. They saw a big tree, and the boy said",
          "A"};
}

class Engines : public ::testing::Test {
 protected:
  void SetUp() override { WEFT_NEEDS_STORIES(); }
  void load(const std::string& scheme) {
    model = CausalModel::from_pretrained(stories(), options_of(scheme));
    tokenizer = Tokenizer::open(stories());
  }
  Request request(const std::string& prompt, int64_t tokens) const {
    return {.prompt = tokenizer->encode(prompt), .max_tokens = tokens};
  }
  // Alone, in an engine of its own.
  Written alone(Request request, EngineOptions options = {}) const {
    Engine engine(model, tokenizer, options);
    Answers answers;
    engine.submit(answers.listening(std::move(request)));
    while (engine.step()) {
    }
    return answers(0);
  }
  static void expect_empty(const Engine& engine) {
    EXPECT_EQ(engine.pages().held(), 0);
    EXPECT_EQ(engine.pages().available(), engine.pages().size());
  }

  std::shared_ptr<const CausalModel> model;
  std::shared_ptr<const Tokenizer> tokenizer;
};

TEST_F(Engines, WritesTheStory) {
  load("float32");
  const auto expected = nlohmann::json::parse(models::read_file(stories() + "/expected.json"));
  const Ids ids = expected["greedy_ids"];
  const Written written = alone({.prompt = {ids[0]}, .max_tokens = static_cast<int64_t>(ids.size()) - 1});
  Ids rest(ids.begin() + 1, ids.end());
  std::string text = tokenizer->decode(rest);
  EXPECT_EQ(written.text, text.substr(text.starts_with(' ') ? 1 : 0));
  EXPECT_EQ(written.finish, FinishReason::Length);
}

class EnginesUnderLoad : public Engines, public ::testing::WithParamInterface<const char*> {};

// Requests that come while others are written, prompts read in parts, too few pages for all: each text is
// the one it is alone.
TEST_P(EnginesUnderLoad, EachTextIsTheOneItIsAlone) {
  load(GetParam());
  std::vector<Written> expected;
  for (const std::string& prompt : prompts()) expected.push_back(alone(request(prompt, 60)));
  struct Load {
    EngineOptions options;
    int steps_between;
  };
  for (const Load& load :
       {Load{{.max_batch = 16}, 0},
        {{.max_batch = 3}, 5},
        {{.max_batch = 8, .page_tokens = 5, .prompt_tokens = 3, .prompt_tokens_alone = 7}, 2},
        {{.max_batch = 20, .context = 128, .cache_tokens = 160, .page_tokens = 8}, 1},
        {{.max_batch = 40}, 0}}) {
    Engine engine(model, tokenizer, load.options);
    Answers answers;
    for (int round = 0; round < 3; ++round)
      for (const std::string& prompt : prompts()) {
        ASSERT_TRUE(engine.submit(answers.listening(request(prompt, 60))));
        for (int i = 0; i < load.steps_between; ++i) engine.step();
      }
    int64_t most_held = 0;
    while (engine.step()) most_held = std::max(most_held, engine.pages().held());
    for (size_t i = 0; i < answers.events(); ++i) {
      EXPECT_EQ(answers(i).text, expected[i % expected.size()].text)
          << "request " << i << ", batch of " << load.options.max_batch;
      EXPECT_EQ(answers(i).finish, expected[i % expected.size()].finish);
      EXPECT_EQ(answers(i).tokens, expected[i % expected.size()].tokens);
      EXPECT_EQ(answers.last(i), 1);
    }
    expect_empty(engine);
    const Figures figures = engine.metrics().figures();
    EXPECT_EQ(figures.finished, 24);
    if (load.options.max_batch < 24) {  // otherwise all begin at once
      EXPECT_GT(figures.reused_tokens, 0);
    }
    EXPECT_LE(most_held, figures.pages);
    if (load.options.cache_tokens > 0) {
      EXPECT_GT(figures.preemptions, 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, EnginesUnderLoad, ::testing::Values("float32", "bfloat16", "int8", "int4-g32"));

TEST_F(Engines, SeveralTextsOfAPrompt) {
  load("float32");
  Request several = request("Once upon a time there was", 40);
  several.choices = 4;
  several.sampling = {.temperature = 1.0, .seed = 7};
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < 4; ++i) {
    Request one = request("Once upon a time there was", 40);
    one.sampling = {.temperature = 1.0, .seed = 7 + i};
    expected.push_back(alone(one).text);
  }
  EXPECT_NE(expected[0], expected[1]);
  for (const EngineOptions& options :
       {EngineOptions{.max_batch = 4},
        {.max_batch = 4, .context = 64, .cache_tokens = 64, .page_tokens = 8}}) {
    Engine engine(model, tokenizer, options);
    Answers answers;
    engine.submit(answers.listening(several));
    while (engine.step()) {
    }
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(answers(0, i).text, expected[static_cast<size_t>(i)]) << i;
    EXPECT_EQ(answers.last(0), 1);
    EXPECT_GT(engine.metrics().figures().copied_pages, 0);
    expect_empty(engine);
  }
}

TEST_F(Engines, CancelledRequestsGiveTheirPagesBack) {
  load("float32");
  Engine engine(model, tokenizer,
                {.max_batch = 2, .page_tokens = 4, .prompt_tokens = 8, .prompt_tokens_alone = 8});
  Answers answers;
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 4; ++i) {
    Request made = request(prompts()[3], 200);
    made.choices = i == 0 ? 2 : 1;
    numbers.push_back(*engine.submit(answers.listening(made)));
  }
  engine.cancel(numbers[3]);  // before it was seen
  engine.step();              // the first is being read
  EXPECT_GT(engine.pages().held(), 0);
  engine.cancel(numbers[0]);
  engine.cancel(numbers[0]);
  engine.cancel(12345);
  for (int i = 0; i < 20; ++i) engine.step();  // the others are being written
  const size_t length = answers(1).text.size();
  EXPECT_GT(length, 0);
  EXPECT_EQ(answers(0).text, "");
  engine.cancel(numbers[1]);
  engine.cancel(numbers[2]);
  EXPECT_FALSE(engine.step());
  expect_empty(engine);
  EXPECT_EQ(answers(1).text.size(), length);
  EXPECT_EQ(engine.metrics().figures().cancelled, 4);
  EXPECT_EQ(engine.metrics().figures().running + engine.metrics().figures().waiting, 0);
}

TEST_F(Engines, LogProbabilities) {
  load("float32");
  Request made = request("Once upon", 8);
  made.likeliest_tokens = 3;
  const Written written = alone(made);
  ASSERT_EQ(written.likelihoods.size(), 8);
  for (const WrittenToken& token : written.likelihoods) {
    ASSERT_EQ(token.likeliest.size(), 3);
    EXPECT_EQ(token.token.token, token.likeliest[0].token);
    EXPECT_EQ(token.token.log_probability, token.likeliest[0].log_probability);
    EXPECT_GE(token.likeliest[0].log_probability, token.likeliest[1].log_probability);
    EXPECT_LT(token.likeliest[0].log_probability, 0);
  }
  made.likeliest_tokens = 512;  // of all tokens
  EXPECT_THAT(error_of([&] { alone(made); }), HasSubstr("logprobs must be between 0 and 100"));
}

TEST_F(Engines, StopsBeforeATextAndAtTheContext) {
  load("float32");
  Request made = request("Once upon a time", 100);
  made.stop = {"Lily", " girl"};
  const Written stopped = alone(made);
  EXPECT_EQ(stopped.text, ", there was a little");
  EXPECT_EQ(stopped.finish, FinishReason::StopText);
  made.stop = {};
  made.ignore_eos = true;
  const Written full = alone(made, {.context = 32});
  EXPECT_EQ(full.finish, FinishReason::ContextFull);
  EXPECT_EQ(full.tokens + static_cast<int64_t>(made.prompt.size()), 32);
}

// A short prompt does not wait for a long one that came before it.
TEST_F(Engines, ShortPromptsDoNotWaitForLongOnes) {
  load("float32");
  Engine engine(model, tokenizer, {.max_batch = 4, .prompt_tokens = 16, .prompt_tokens_alone = 16});
  Answers answers;
  std::string text;
  while (text.size() < 700) text += prompts()[6] + " ";
  engine.submit(answers.listening(request(text, 4)));
  engine.submit(answers.listening(request("The sun", 4)));
  for (int i = 0; i < 5; ++i) engine.step();
  EXPECT_EQ(answers(1).finish, FinishReason::Length);
  EXPECT_EQ(answers(0).tokens, 0);
  while (engine.step()) {
  }
  EXPECT_EQ(answers(0).tokens, 4);
}

TEST_F(Engines, RunsInAThread) {
  load("float32");
  const Written expected = alone(request("Once upon a time", 50));
  Engine engine(model, tokenizer, {.max_batch = 4, .max_queue = 4});
  engine.start();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> texts(12);
  int finished = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    Request made = request("Once upon a time", 50);
    made.on_event = [&, i](const Event& event) {
      const std::scoped_lock lock(mutex);
      texts[i] += event.text;
      finished += event.is_last ? 1 : 0;
      changed.notify_all();
    };
    while (!engine.submit(made)) std::this_thread::yield();  // the queue is full
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished == 12; });
  }
  EXPECT_THAT(texts, Each(expected.text));
  engine.submit(request("Once", 1000000));  // stopped while it is written
  engine.stop();
  expect_empty(engine);
  EXPECT_FALSE(engine.submit(request("Once", 1)));
}

TEST_F(Engines, SaysWhatIsWrong) {
  load("float32");
  const auto engine_error = [&](EngineOptions options) {
    return error_of([&] { Engine(model, tokenizer, options); });
  };
  EXPECT_THAT(engine_error({.max_batch = 0}), HasSubstr("max_batch must be at least 1, got 0"));
  EXPECT_THAT(engine_error({.context = 100000}), HasSubstr("between 2 and the model's 512 positions"));
  EXPECT_THAT(engine_error({.cache_tokens = 16}), HasSubstr("does not hold a context of 512"));
  Engine engine(model, tokenizer, {.max_batch = 2, .context = 16, .max_queue = 1});
  const auto submit_error = [&](Request request) { return error_of([&] { engine.submit(request); }); };
  EXPECT_THAT(submit_error({}), HasSubstr("the prompt has no tokens"));
  EXPECT_THAT(submit_error({.prompt = Ids(16, 1)}), HasSubstr("has 16 tokens, the context of 16"));
  EXPECT_THAT(submit_error({.prompt = {512}}), HasSubstr("token 512 is not in the vocabulary"));
  EXPECT_THAT(submit_error({.prompt = {1}, .max_tokens = 0}), HasSubstr("max_tokens must be at least 1"));
  EXPECT_THAT(submit_error({.prompt = {1}, .choices = 3}), HasSubstr("n must be between 1 and 2, got 3"));
  EXPECT_THAT(submit_error({.prompt = {1}, .stop = {""}}), HasSubstr("stop string is empty"));
  EXPECT_THAT(submit_error({.prompt = {1}, .sampling = {.top_p = 2}}), HasSubstr("top_p"));
  EXPECT_TRUE(engine.submit({.prompt = {1}}));
  EXPECT_FALSE(engine.submit({.prompt = {1}}));  // the queue is full
  EXPECT_EQ(engine.metrics().figures().refused, 1);
  while (engine.step()) {
  }
  EXPECT_TRUE(engine.submit({.prompt = {1}}));
}

TEST_F(Engines, FiguresAreText) {
  load("float32");
  Engine engine(model, tokenizer);
  engine.submit(request("Once upon a time", 10));
  while (engine.step()) {
  }
  const std::string text = engine.metrics().text();
  for (const char* line :
       {"weft_generated_tokens_total 10\n", "weft_requests_total{outcome=\"finished\"} 1\n",
        "weft_steps_total 10\n", "# TYPE weft_request_seconds histogram\n",
        "weft_request_seconds_bucket{le=\"+Inf\"} 1\n", "weft_step_rows_count 10\n",
        "weft_cache_pages{state=\"held\"} 0\n", "weft_time_per_token_seconds_count 9\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace weft::serve
