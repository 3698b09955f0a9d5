#include "models/paged_batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "models/support.h"
#include "weft/parallel.h"

namespace weft::models {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

constexpr int64_t kPageTokens = 4, kPages = 96;

ModelOptions options_of(const std::string& scheme) {
  ModelOptions options;
  (scheme.starts_with("int") ? options.quantize : options.dtype) = scheme;
  return options;
}

Ids tokens_of(int64_t text, int64_t count) {
  Ids ids(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = (i * 37 + text * 11 + i * i * text) % 96;
  return ids;
}

// A text in pages that lie anywhere.
struct Text {
  Ids tokens;
  std::vector<int32_t> pages;
  Text(int64_t number, int64_t count) : tokens(tokens_of(number, count)) {
    for (int64_t i = 0; i * kPageTokens < count; ++i)
      pages.push_back(static_cast<int32_t>((number * 8 + i * 5) % kPages));
  }
  PagedBatch::Row row(int64_t position, bool wants_logits = true) const {
    return {tokens[static_cast<size_t>(position)], position, pages.data(), wants_logits};
  }
};

std::vector<float> copied(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

class Schemes : public ::testing::TestWithParam<const char*> {};

// The same bits for a row alone, in a chunk of its text, and beside rows of others.
TEST_P(Schemes, RowsDoNotDependOnThoseBesideThem) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    DecoderConfig config = small_config("llama");
    config.num_layers = 1;
    config.hidden_size = 272;  // longer than the parts that products take at once, and no multiple of them
    config.intermediate_size = 1100;
    const auto model = CausalModel::random(config, options_of(GetParam()));
    const int64_t length = 40, vocab = 96;
    const Text text(1, length);
    std::vector<std::vector<float>> alone;
    PagedBatch single(model, kPages, kPageTokens, 1, 1);
    for (int64_t i = 0; i < length; ++i) {
      const PagedBatch::Row row = text.row(i);
      alone.push_back(copied(single.forward({&row, 1})));
    }
    for (const int64_t chunk : {1, 2, 7, 8, 9, 16, 17, 40})
      for (const int64_t others : {0, 1, 8, 15, 16, 47}) {
        PagedBatch batch(model, kPages, kPageTokens, chunk + others, chunk + others);
        std::vector<Text> beside;
        for (int64_t i = 0; i < others; ++i) beside.emplace_back(i, 1);
        std::vector<int32_t> free;
        for (int32_t page = 0; page < kPages; ++page)
          if (std::find(text.pages.begin(), text.pages.end(), page) == text.pages.end()) free.push_back(page);
        for (size_t i = 0; i < beside.size(); ++i) beside[i].pages = {free[i]};
        for (int64_t first = 0; first < length; first += chunk) {
          const int64_t count = std::min(chunk, length - first);
          std::vector<PagedBatch::Row> rows;
          for (int64_t i = 0; i < others / 2; ++i) rows.push_back(beside[static_cast<size_t>(i)].row(0));
          for (int64_t i = 0; i < count; ++i) rows.push_back(text.row(first + i));
          for (int64_t i = others / 2; i < others; ++i) rows.push_back(beside[static_cast<size_t>(i)].row(0));
          const std::span<const float> logits = batch.forward(rows);
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(std::memcmp(logits.data() + (others / 2 + i) * vocab,
                                  alone[static_cast<size_t>(first + i)].data(), vocab * sizeof(float)),
                      0)
                << "position " << first + i << ", chunks of " << chunk << " beside " << others;
        }
      }
  }
  set_num_threads(num_usable_cores());
}
INSTANTIATE_TEST_SUITE_P(All, Schemes,
                         ::testing::Values("float32", "float16", "bfloat16", "int8", "int4-g32"));

// Pages in any order give what the cache of one text gives.
TEST(PagedBatch, IsTheModel) {
  for (const char* type : {"llama", "mistral"})
    for (const char* cache_dtype : {"float32", "float16", "bfloat16", "int8"}) {
      const auto model = CausalModel::random(small_config(type), {.dtype = "float32", .cache_dtype = cache_dtype});
      PagedBatch batch(model, kPages, kPageTokens, 8, 8);
      KVCache cache = model->make_cache();
      const Text text(3, 30);
      for (int64_t i = 0; i < 30; ++i) {
        const PagedBatch::Row row = text.row(i);
        const std::vector<float> logits = copied(batch.forward({&row, 1}));
        const Tensor expected =
            model->forward(std::span(text.tokens).subspan(static_cast<size_t>(i), 1), cache);
        ASSERT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0)
            << type << ' ' << cache_dtype << ", position " << i;
      }
    }
}

TEST(PagedBatch, CopiesPages) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "float32"});
  PagedBatch batch(model, kPages, kPageTokens, 8, 8);
  Text text(3, 8);
  std::vector<PagedBatch::Row> rows;
  for (int64_t i = 0; i < 7; ++i) rows.push_back(text.row(i, false));
  EXPECT_TRUE(batch.forward(rows).empty());
  PagedBatch::Row last = text.row(7);
  const std::vector<float> expected = copied(batch.forward({&last, 1}));
  for (int32_t& page : text.pages) {
    batch.copy_page(page, page + 1);
    ++page;
  }
  last = text.row(7);
  EXPECT_EQ(copied(batch.forward({&last, 1})), expected);
  EXPECT_EQ(batch.cache_bytes(), kPages * kPageTokens * batch.bytes_per_token());
}

TEST(PagedBatch, SaysWhatIsWrong) {
  const auto model = CausalModel::random(small_config("llama"), {.dtype = "float32"});
  PagedBatch batch(model, kPages, kPageTokens, 2, 1);
  const Text text(3, 8);
  std::vector<PagedBatch::Row> rows = {text.row(0), text.row(1), text.row(2)};
  EXPECT_THAT(error_of([&] { batch.forward(rows); }), HasSubstr("between 1 and 2 rows, got 3"));
  rows.pop_back();
  EXPECT_THAT(error_of([&] { batch.forward(rows); }), HasSubstr("at most 1 rows of logits, 2 are wanted"));
  rows = {text.row(0)};
  rows[0].token = 96;
  EXPECT_THAT(error_of([&] { batch.forward(rows); }), HasSubstr("token 96 is not in the vocabulary of 96"));
  const auto rounding =
      CausalModel::random(small_config("llama"), {.dtype = "bfloat16", .activations = "bfloat16"});
  EXPECT_THAT(error_of([&] { PagedBatch(rounding, 1, 1, 1, 1); }), HasSubstr("must not be bfloat16"));
}

}  // namespace
}  // namespace weft::models
