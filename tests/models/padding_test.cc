// Models have rows that no token stands for: their vocabulary is padded, and the tokenizer's has gaps.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "models/support.h"
#include "models/tokenizers.h"
#include "weft/models/generation.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

constexpr int64_t kTokens = 60;  // of 96 rows
const Ids kGaps = {17, 18, 40};

class Padding : public ::testing::Test {
 protected:
  static bool is_used(int64_t id) {
    return id < kTokens && std::find(kGaps.begin(), kGaps.end(), id) == kGaps.end();
  }
  // What a text of 100 tokens is made of. Its prompt has padding ids, which lookups propose.
  Ids written(GenerationOptions options) const {
    options.max_new_tokens = 100;
    options.ignore_eos = true;
    TextGeneration text(model, tokenizer, {1, 61, 62, 95, 17, 61, 62, 95, 1}, std::move(options));
    std::string given;
    while (const auto piece = text.next()) given += *piece;
    const Ids& all = text.generation().tokens();
    Ids ids(all.begin() + 9, all.end());
    EXPECT_EQ(given, tokenizer->decode(ids));
    return ids;
  }

  std::shared_ptr<const CausalModel> model = CausalModel::random(small_config("llama"), {.dtype = "float32"}, 3);
  std::shared_ptr<const CausalModel> other = CausalModel::random(small_config("llama"), {.dtype = "float32"}, 4);
  std::shared_ptr<const Tokenizer> tokenizer = parse_tokenizer_json(tokenizer_text(kTokens, kGaps), "test");
};

TEST_F(Padding, DecodesToNothing) {
  EXPECT_EQ(tokenizer->decode({1, 60, 95, 17, 2, 1 << 20}), "w1 w2 ");
  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const int64_t id : {1, 60, 95, 17, 2}) text += decoder.push(id);
  EXPECT_EQ(text + decoder.finish(), "w1 w2 ");
  EXPECT_TRUE(tokenizer->has_token(0) && tokenizer->has_token(59));
  EXPECT_FALSE(tokenizer->has_token(60) || tokenizer->has_token(17) || tokenizer->has_token(-1));
  EXPECT_THAT(error_of([&] { tokenizer->decode({-1}); }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(error_of([&] { tokenizer->token_bytes(60); }), HasSubstr("outside the vocabulary"));
}

TEST_F(Padding, UsedIds) {
  const auto ranges = used_ids(*model, *tokenizer);
  ASSERT_EQ(ranges.size(), 3);
  EXPECT_EQ(ranges[0].begin, 0);
  EXPECT_EQ(ranges[0].end, 17);
  EXPECT_EQ(ranges[1].begin, 19);
  EXPECT_EQ(ranges[1].end, 40);
  EXPECT_EQ(ranges[2].begin, 41);
  EXPECT_EQ(ranges[2].end, 60);
}

TEST_F(Padding, IsNeverWritten) {
  const std::vector<SamplingOptions> ways = {
      {},
      {.repetition_penalty = 1.3},
      {.temperature = 1},
      {.temperature = 50},
      {.temperature = 50, .top_k = 90},
      {.temperature = 50, .top_p = 0.99},
      {.temperature = 50, .min_p = 0.001},
      {.temperature = 50, .top_k = 95, .top_p = 0.999, .min_p = 1e-6, .repetition_penalty = 1.1}};
  for (size_t way = 0; way < ways.size(); ++way)
    for (const auto& [draft, lookup] :
         {std::pair{std::shared_ptr<const CausalModel>(), false}, {other, false}, {nullptr, true}}) {
      const Ids ids = written(
          {.sampling = ways[way], .draft = draft, .prompt_lookup = lookup, .adaptive_speculation = false});
      ASSERT_EQ(ids.size(), 100);
      for (const int64_t id : ids)
        EXPECT_TRUE(is_used(id)) << id << ", way " << way << (draft ? ", draft" : "") << lookup;
    }
}

// Alone, the model would write such ids; greedy text is what is likeliest of the others.
TEST_F(Padding, GreedyTextIsTheLikeliestOfTheOthers) {
  Ids text = {1, 61, 62, 95, 17, 61, 62, 95, 1};
  const size_t prompt = text.size();
  bool was_needed = false;
  KVCache cache = model->make_cache();
  for (int i = 0; i < 100; ++i) {
    const Tensor logits = model->forward(std::span(text).subspan(static_cast<size_t>(cache.length)), cache);
    std::vector<float> values(logits.data_as<float>(), logits.data_as<float>() + 96);
    was_needed = was_needed || !is_used(argmax(values));
    for (int64_t id = 0; id < 96; ++id)
      if (!is_used(id)) values[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
    text.push_back(argmax(values));
  }
  EXPECT_TRUE(was_needed);
  EXPECT_EQ(written({}), Ids(text.begin() + static_cast<ptrdiff_t>(prompt), text.end()));
}

TEST_F(Padding, ProbabilitiesAreTheOthersAlone) {
  std::vector<float> logits(8, 1.0f);
  logits[6] = 9, logits[3] = std::nanf("");
  const std::vector<IdRange> ids = {{0, 2}, {3, 5}};
  const auto found = Sampler({.temperature = 1}, ids).probabilities(logits, Ids{6});
  EXPECT_EQ(found, (std::vector<float>{1.0f / 3, 1.0f / 3, 0, 0, 1.0f / 3, 0, 0, 0}));
  std::fill_n(logits.begin(), 5, std::nanf(""));
  EXPECT_THAT(error_of([&] { Sampler({}, ids).sample(logits, {}); }), HasSubstr("the logits are all NaN"));
  EXPECT_EQ(Sampler({}).sample(logits, {}), 6);
}

}  // namespace
}  // namespace weft::models
