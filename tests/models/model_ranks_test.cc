#include "models/model_ranks.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "models/support.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;

std::string message_of(const DecoderConfig& config, const std::string& quantize, int ranks) {
  try {
    check_ranks(config, quantize, ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value);
    return error.what();
  }
  return "";
}

TEST(ModelRanks, PartsFollowEachOther) {
  for (const std::string& name : config_names()) {
    const DecoderConfig config = named_config(name);
    for (const std::string quantize : {"", "int8", "int4-g32", "int4-g128"})
      for (int ranks = 1; ranks <= 64; ranks *= 2) {
        if (!message_of(config, quantize, ranks).empty()) continue;
        int64_t between = 0, words = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const Range columns = intermediate_range(config.intermediate_size, quantize, rank, ranks),
                      rows = vocab_range(config, rank, ranks);
          EXPECT_EQ(columns.begin, between);
          EXPECT_EQ(rows.begin, words);
          EXPECT_GT(columns.size(), 0);
          EXPECT_GT(rows.size(), 0);
          // Logits of one row lie one behind the other.
          EXPECT_EQ(rows.begin, rank * vocab_range(config, 0, ranks).size());
          EXPECT_EQ(between % std::max<int64_t>(1, QuantizationScheme::parse(quantize).group_size), 0);
          between = columns.end;
          words = rows.end;
        }
        EXPECT_EQ(between, config.intermediate_size);
        EXPECT_EQ(words, config.vocab_size);
      }
  }
}

TEST(ModelRanks, NumbersThatDoNotDivide) {
  DecoderConfig config = named_config("tiny");
  EXPECT_EQ(message_of(config, "", 1), "");
  EXPECT_EQ(message_of(config, "", 4), "");
  EXPECT_EQ(message_of(config, "int4-g32", 4), "");
  EXPECT_THAT(message_of(config, "", 3),
              HasSubstr("3 ranks do not divide the model's 8 heads and 4 key-value heads"));
  EXPECT_THAT(message_of(config, "", 8), HasSubstr("8 heads and 4 key-value heads"));
  EXPECT_THAT(message_of(config, "int4-g64", 4),
              HasSubstr("intermediate_size 172 makes 3 parts of 64 columns"));
  config.vocab_size = 9;
  EXPECT_THAT(message_of(config, "", 4), HasSubstr("vocab_size 9 is too small for 4 ranks"));
}

// What a rank quantizes or cuts is what the whole matrix has there.
TEST(ModelRanks, PartsOfQuantizedMatrices) {
  const std::string name = "model.layers.0.mlp.down_proj";
  for (const std::string scheme : {"none", "int8", "int4-g32", "int4-g64"}) {
    const auto weights_of = [&] {
      ModelOptions options{.quantize = scheme};
      return random_weights(options, 7);
    };
    const Tensor whole = dequantize(weights_of()->linear(name, 24, 172));
    for (const Range columns : {Range{0, 64}, Range{64, 172}, Range{128, 172}, Range{64, 80}, Range{0, 172}})
      for (const Range rows : {Range{0, 24}, Range{3, 10}}) {
        const LinearWeight part =
            weights_of()->linear(name, 24, 172, false, {.rows = rows, .columns = columns});
        const Tensor expected =
            slice(slice(whole, 0, rows.begin, rows.end), 1, columns.begin, columns.end).contiguous();
        const Tensor got = dequantize(part);
        ASSERT_EQ(got.shape(), expected.shape()) << scheme;
        for (int64_t i = 0; i < got.numel(); ++i) ASSERT_EQ(got.at(i), expected.at(i)) << scheme << " " << i;
      }
  }
  ModelOptions options{.quantize = "int4-g32"};
  try {
    random_weights(options, 7)->linear(name, 24, 172, false, {.columns = Range{48, 96}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("'model.layers.0.mlp.down_proj': a rank's inputs 48 to 95 begin within one group "
                          "of 32 weights and end in another"));
  }
}

TEST(ModelRanks, CheckpointPartsAreThoseOfTheWhole) {
  WEFT_NEEDS_STORIES();
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(stories());
  for (const std::string scheme : {"none", "int8", "int4-g32"}) {
    ModelOptions options{.quantize = scheme};
    const auto weights = checkpoint_weights(checkpoint, options);
    for (const auto& [name, in] :
         {std::pair{"mlp.down_proj", int64_t{172}}, std::pair{"self_attn.o_proj", int64_t{64}}}) {
      const std::string full = std::string("model.layers.1.") + name;
      const Tensor whole = dequantize(weights->linear(full, 64, in));
      for (const Range columns : {Range{0, 16}, Range{16, 32}, Range{32, 64}}) {
        const Tensor got = dequantize(weights->linear(full, 64, in, false, {.columns = columns}));
        const Tensor expected = slice(whole, 1, columns.begin, columns.end).contiguous();
        ASSERT_EQ(got.shape(), expected.shape());
        for (int64_t i = 0; i < got.numel(); ++i)
          ASSERT_EQ(got.at(i), expected.at(i)) << scheme << " " << name;
      }
    }
  }
}

}  // namespace
}  // namespace weft::models
