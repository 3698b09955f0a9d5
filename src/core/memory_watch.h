// Memory from whose elements something was computed that is kept, as the weights that a compiled graph has
// packed. Whoever writes to elements of a tensor says so, and what was kept is no longer used.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "weft/tensor.h"

namespace weft {

// Elements have been written.
void note_write(const Storage& storage);
// From now on others may write unseen: NumPy, DLPack, whoever has the address.
void note_exposed(const std::shared_ptr<Storage>& storage);
bool is_exposed(const std::shared_ptr<Storage>& storage);

// Notes the write when the scope ends, so that what is computed meanwhile is not kept.
class WriteNote {
 public:
  explicit WriteNote(const Storage& storage) : storage_(storage) {}
  ~WriteNote() { note_write(storage_); }
  WriteNote(const WriteNote&) = delete;
  WriteNote& operator=(const WriteNote&) = delete;

 private:
  const Storage& storage_;
};

// Sees writes to any of the storages, and that one of them is exposed, from its construction on.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::vector<std::shared_ptr<Storage>> storages);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  bool is_unchanged() const { return !changed_.load(std::memory_order_acquire); }
  void change() { changed_.store(true, std::memory_order_release); }

 private:
  const std::vector<std::shared_ptr<Storage>> storages_;  // so that no other takes the address of one
  std::atomic<bool> changed_ = false;
};

}  // namespace weft
