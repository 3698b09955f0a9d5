#include "weft/allocator.h"
#include "weft/tensor.h"

namespace weft {

std::shared_ptr<Storage> Storage::allocate(size_t nbytes, Device device) {
  require_available(device);
  struct Owned : Storage {};  // made where its count is
  std::shared_ptr<Storage> storage = std::make_shared<Owned>();
  storage->nbytes_ = nbytes;
  storage->device_ = device;
  if (device.type != DeviceType::Meta) storage->data_ = detail::allocate(nbytes, &storage->capacity_);
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(void* data, size_t nbytes, std::function<void()> release,
                                       bool read_only, Device device) {
  std::shared_ptr<Storage> storage(new Storage);
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->device_ = device;
  storage->read_only_ = read_only;
  storage->release_ = std::move(release);
  return storage;
}

Storage::~Storage() {
  if (capacity_) detail::deallocate(data_, capacity_);
  if (release_) release_();
}

}  // namespace weft
