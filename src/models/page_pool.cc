#include "models/page_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/error.h"

namespace weft::models {

PagePool::PagePool(int64_t pages, int64_t page_tokens) : page_tokens_(page_tokens) {
  WEFT_CHECK(pages > 0 && pages <= INT32_MAX,
             fmt::format("cache: the number of pages must be between 1 and {}, got {}", INT32_MAX, pages));
  WEFT_CHECK(page_tokens > 0,
             fmt::format("cache: the tokens of a page must be at least 1, got {}", page_tokens));
  pages_.resize(static_cast<size_t>(pages));
  for (int64_t page = pages - 1; page >= 0; --page) empty_.push_back(static_cast<int32_t>(page));
}

PagePool::Page& PagePool::at(int32_t page) { return pages_[static_cast<size_t>(page)]; }
const PagePool::Page& PagePool::at(int32_t page) const { return pages_[static_cast<size_t>(page)]; }

std::optional<int32_t> PagePool::take() {
  if (empty_.empty() && kept_.empty()) return std::nullopt;
  if (empty_.empty()) {
    const int32_t oldest = kept_.front();
    kept_.pop_front();
    forget(oldest);
    empty_.push_back(oldest);
  }
  const int32_t page = empty_.back();
  empty_.pop_back();
  at(page).holders = 1;
  return page;
}

void PagePool::hold(int32_t page) {
  Page& held = at(page);
  if (held.holders++ > 0) return;
  WEFT_ASSERT(held.is_published, "an empty page is held");
  kept_.erase(held.kept);
}

void PagePool::release(int32_t page) {
  Page& released = at(page);
  WEFT_ASSERT(released.holders > 0, "a page is released that nobody holds");
  if (--released.holders > 0) return;
  if (released.is_published)
    released.kept = kept_.insert(kept_.end(), page);
  else
    empty_.push_back(page);
}

void PagePool::release_all(std::span<const int32_t> pages) {
  for (size_t i = pages.size(); i-- > 0;) release(pages[i]);
}

bool PagePool::is_own(int32_t page) const { return at(page).holders == 1 && !at(page).is_published; }

size_t PagePool::hash(int32_t before, std::span<const int64_t> tokens) {
  uint64_t value = static_cast<uint64_t>(before) * 0x9E3779B97F4A7C15ull + 1;
  for (const int64_t token : tokens) {
    value = (value ^ static_cast<uint64_t>(token)) * 0xBF58476D1CE4E5B9ull;
    value ^= value >> 29;
  }
  return value;
}

int32_t PagePool::find(int32_t before, std::span<const int64_t> tokens) const {
  const auto [begin, end] = published_.equal_range(hash(before, tokens));
  for (auto entry = begin; entry != end; ++entry) {
    const Page& page = at(entry->second);
    if (page.before == before && std::equal(tokens.begin(), tokens.end(), page.tokens.begin()))
      return entry->second;
  }
  return kNone;
}

std::vector<int32_t> PagePool::hold_prefix(std::span<const int64_t> tokens) {
  std::vector<int32_t> pages;
  const auto size = static_cast<size_t>(page_tokens_);
  for (int32_t before = kNone; tokens.size() >= size; tokens = tokens.subspan(size)) {
    const int32_t page = find(before, tokens.first(size));
    if (page == kNone) break;
    hold(page);
    pages.push_back(page);
    before = page;
  }
  return pages;
}

int32_t PagePool::publish(int32_t before, std::span<const int64_t> tokens, int32_t page) {
  WEFT_ASSERT(static_cast<int64_t>(tokens.size()) == page_tokens_, "a page is published that is not full");
  if (const int32_t same = find(before, tokens); same != kNone) {
    if (same == page) return page;
    hold(same);
    release(page);
    return same;
  }
  Page& published = at(page);
  WEFT_ASSERT(!published.is_published, "a page is published as two texts");
  published.is_published = true;
  published.before = before;
  published.tokens.assign(tokens.begin(), tokens.end());
  published_.emplace(hash(before, tokens), page);
  return page;
}

void PagePool::forget(int32_t page) {
  Page& forgotten = at(page);
  const auto [begin, end] = published_.equal_range(hash(forgotten.before, forgotten.tokens));
  for (auto entry = begin; entry != end; ++entry)
    if (entry->second == page) {
      published_.erase(entry);
      break;
    }
  forgotten.is_published = false;
  forgotten.tokens.clear();
}

}  // namespace weft::models
