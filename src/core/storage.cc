#include <cstdint>

#include "core/backend.h"
#include "core/profiling.h"
#include "weft/tensor.h"

namespace weft {

std::shared_ptr<Storage> Storage::allocate(size_t nbytes, Device device) {
  constexpr size_t kAlignment = 64, kSmall = 64;
  struct Owned : Storage {};  // made where its count is
  struct Small : Storage {    // the block as well
    std::byte room[kSmall + kAlignment];
    void* block() { return room + (kAlignment - reinterpret_cast<uintptr_t>(room) % kAlignment); }
  };
  const Backend& backend = available_backend(device);
  std::shared_ptr<Storage> storage;
  if (nbytes <= kSmall && backend.memory == MemoryKind::Host) {
    auto small = std::make_shared_for_overwrite<Small>();
    small->data_ = small->block();
    storage = std::move(small);
  } else {
    storage = std::make_shared<Owned>();
    if (backend.memory != MemoryKind::None) {
      size_t capacity = 0;  // a storage without memory has none to give back
      storage->data_ = backend.allocate(nbytes, device.index, &capacity);
      storage->capacity_ = capacity;
      profiling::note_memory(profiling::MemoryAction::Allocated, storage->data_, storage->capacity_, device);
    }
  }
  storage->nbytes_ = nbytes;
  storage->device_ = device;
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(void* data, size_t nbytes, std::function<void()> release,
                                       bool read_only, Device device) {
  struct Wrapped : Storage {};  // made where its count is
  std::shared_ptr<Storage> storage = std::make_shared<Wrapped>();
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->device_ = device;
  storage->read_only_ = read_only;
  storage->release_ = std::move(release);
  return storage;
}

Storage::~Storage() {
  if (capacity_) {
    profiling::note_memory(profiling::MemoryAction::Released, data_, capacity_, device_);
    backend_of(device_).deallocate(data_, capacity_, device_.index);
  }
  if (release_) release_();
}

}  // namespace weft
