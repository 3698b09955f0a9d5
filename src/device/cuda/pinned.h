// Pinned memory: the process's, which stays where it is, so that a device copies from and to it by itself
// while the process goes on. Freed blocks are kept; one is given out again when the copies that were started
// from or to it are done.
#pragma once

#include <cstddef>
#include <memory>

namespace weft::cuda {

// For all devices, asked of this one. Null where there is none left, after the kept blocks were given back.
void* take_pinned(size_t nbytes, int device);
void give_pinned(void* data) noexcept;
bool is_pinned(const void* data);
// A copy from or to the block that holds `data` is under way until `event` has passed.
void note_copy(const void* data, int device, std::shared_ptr<void> event);
// Blocks that nobody has and no copy uses go back to the driver.
void release_kept_pinned();

struct PinnedStats {
  size_t used = 0, cached = 0;  // bytes
};
PinnedStats pinned_stats();

}  // namespace weft::cuda
