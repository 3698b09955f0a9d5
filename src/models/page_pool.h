// Who holds which page of a cache of keys and values, and which texts' beginnings lie in pages.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::models {

// Numbers of pages, the memory is others'. A page has any number of holders, and may be published as the
// keys and values of `page_tokens` tokens behind those of another published page: who begins a text with the
// same tokens holds it as well. Published pages that nobody holds are kept until pages are needed, the ones
// not used for longest first. A holder of a page holds those before it, so none is given away before the
// pages that follow it. Not for several threads at once.
class PagePool {
 public:
  static constexpr int32_t kNone = -1;

  PagePool(int64_t pages, int64_t page_tokens);

  // A page with one holder and nothing in it; nothing where all are held.
  std::optional<int32_t> take();
  void hold(int32_t page);
  void release(int32_t page);
  // Pages of one text in its order: the last is released first.
  void release_all(std::span<const int32_t> pages);
  // May its holder write to it? Not where others hold it or may find it.
  bool is_own(int32_t page) const;

  // The published pages that begin as `tokens` do, each held once more.
  std::vector<int32_t> hold_prefix(std::span<const int64_t> tokens);
  // `page` holds `tokens` behind the published page `before`, kNone: at the start. Where another page does
  // already, that one is held instead and returned, and `page` is released.
  int32_t publish(int32_t before, std::span<const int64_t> tokens, int32_t page);

  int64_t page_tokens() const { return page_tokens_; }
  int64_t size() const { return static_cast<int64_t>(pages_.size()); }
  // Pages that take() can give, kept() of which are published ones.
  int64_t available() const { return static_cast<int64_t>(empty_.size() + kept_.size()); }
  int64_t kept() const { return static_cast<int64_t>(kept_.size()); }
  int64_t held() const { return size() - available(); }

 private:
  struct Page {
    int64_t holders = 0;
    bool is_published = false;
    int32_t before = kNone;
    std::vector<int64_t> tokens;        // of a published page
    std::list<int32_t>::iterator kept;  // where nobody holds a published page
  };
  static size_t hash(int32_t before, std::span<const int64_t> tokens);
  int32_t find(int32_t before, std::span<const int64_t> tokens) const;
  void forget(int32_t page);
  Page& at(int32_t page);
  const Page& at(int32_t page) const;

  int64_t page_tokens_;
  std::vector<Page> pages_;
  std::vector<int32_t> empty_;
  std::list<int32_t> kept_;  // the one not used for longest first
  std::unordered_multimap<size_t, int32_t> published_;
};

}  // namespace weft::models
