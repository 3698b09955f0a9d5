#include "models/page_pool.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "models/support.h"

namespace weft::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<int64_t>;

Ids counting(int64_t first, size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// A text's pages, published one after another.
std::vector<int32_t> publish_text(PagePool& pool, const Ids& tokens) {
  std::vector<int32_t> pages;
  const auto size = static_cast<size_t>(pool.page_tokens());
  for (size_t at = 0; at + size <= tokens.size(); at += size)
    pages.push_back(pool.publish(pages.empty() ? PagePool::kNone : pages.back(),
                                 std::span(tokens).subspan(at, size), *pool.take()));
  return pages;
}

TEST(PagePool, GivesEachPageOnce) {
  PagePool pool(3, 4);
  const std::vector<int32_t> pages = {*pool.take(), *pool.take(), *pool.take()};
  EXPECT_THAT(pages, ::testing::UnorderedElementsAre(0, 1, 2));
  EXPECT_FALSE(pool.take());
  EXPECT_EQ(pool.held(), 3);
  pool.release(pages[1]);
  EXPECT_EQ(pool.take(), pages[1]);
  pool.release_all(pages);
  EXPECT_EQ(pool.available(), 3);
  EXPECT_EQ(pool.kept(), 0);
}

TEST(PagePool, FindsBeginnings) {
  PagePool pool(8, 4);
  const Ids text = counting(0, 12);
  const auto pages = publish_text(pool, text);
  pool.release_all(pages);
  EXPECT_EQ(pool.kept(), 3);
  EXPECT_EQ(pool.hold_prefix(text), pages);
  EXPECT_EQ(pool.hold_prefix(counting(0, 11)), (std::vector{pages[0], pages[1]}));  // whole pages
  EXPECT_THAT(pool.hold_prefix(counting(0, 3)), IsEmpty());
  EXPECT_THAT(pool.hold_prefix(counting(4, 8)), IsEmpty());  // the same tokens behind others
  EXPECT_EQ(pool.held(), 3);
  pool.release_all(pages);
  EXPECT_EQ(pool.held(), 2);
  pool.release_all(std::span(pages).first(2));
  EXPECT_EQ(pool.held(), 0);
}

TEST(PagePool, TheSameTextTwiceIsOne) {
  PagePool pool(8, 4);
  const auto pages = publish_text(pool, counting(0, 8)), same = publish_text(pool, counting(0, 8));
  EXPECT_EQ(pages, same);
  EXPECT_EQ(pool.held(), 2);
  EXPECT_FALSE(pool.is_own(pages[0]));
  pool.release_all(pages);
  EXPECT_FALSE(pool.is_own(pages[0]));  // others may find it
  pool.release_all(same);
  EXPECT_EQ(pool.available(), 8);
}

TEST(PagePool, GivesAwayWhatWasNotUsedForLongest) {
  PagePool pool(4, 2);
  const auto first = publish_text(pool, counting(0, 4)), second = publish_text(pool, counting(10, 4));
  pool.release_all(first);
  pool.release_all(second);
  pool.release_all(pool.hold_prefix(counting(0, 4)));
  EXPECT_TRUE(pool.take());  // the end of the second text
  EXPECT_EQ(pool.hold_prefix(counting(10, 4)).size(), 1);
  EXPECT_EQ(pool.hold_prefix(counting(0, 4)), first);
  EXPECT_FALSE(pool.take());
}

TEST(PagePool, SaysWhatIsWrong) {
  EXPECT_THAT(error_of([] { PagePool(0, 4); }), HasSubstr("pages must be between 1 and 2147483647, got 0"));
  EXPECT_THAT(error_of([] { PagePool(1, 0); }), HasSubstr("at least 1, got 0"));
}

// Texts that begin alike come and go; every page is either held by as many as think so, or to be had.
TEST(PagePool, KeepsCountUnderRandomUse) {
  std::mt19937 engine(3);
  PagePool pool(12, 2);
  std::vector<std::vector<int32_t>> held;
  for (int round = 0; round < 20000; ++round) {
    if (!held.empty() && engine() % 2 == 0) {
      const size_t at = engine() % held.size();
      pool.release_all(held[at]);
      held.erase(held.begin() + static_cast<ptrdiff_t>(at));
    } else {
      Ids tokens(2 * (1 + engine() % 5));
      for (int64_t& token : tokens) token = static_cast<int64_t>(engine() % 2);
      std::vector<int32_t> pages = pool.hold_prefix(tokens);
      while (pages.size() * 2 < tokens.size()) {
        const auto page = pool.take();
        if (!page) break;
        EXPECT_TRUE(pool.is_own(*page));
        pages.push_back(pool.publish(pages.empty() ? PagePool::kNone : pages.back(),
                                     std::span(tokens).subspan(pages.size() * 2, 2), *page));
      }
      held.push_back(pages);
    }
    std::vector<bool> is_held(12);
    for (const auto& pages : held)
      for (const int32_t page : pages) is_held[static_cast<size_t>(page)] = true;
    ASSERT_EQ(pool.held(), std::count(is_held.begin(), is_held.end(), true));
  }
  for (const auto& pages : held) pool.release_all(pages);
  EXPECT_EQ(pool.available(), 12);
}

}  // namespace
}  // namespace weft::models
