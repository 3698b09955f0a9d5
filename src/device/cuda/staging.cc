#include "device/cuda/staging.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "device/cuda/driver.h"
#include "device/cuda/pinned.h"

namespace weft::cuda {
namespace {

constexpr size_t kBufferBytes = size_t{4} << 20, kAlignment = 256;

struct Buffer {
  char* data = nullptr;
  size_t used = 0;              // filled with what the device is to read
  std::shared_ptr<void> event;  // behind the last copy from or to it
};

// Of one device, whose stream does all of its copies in order.
class Stage {
 public:
  // False: there is no pinned memory.
  bool to_device(char* to, const char* from, size_t nbytes, int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_open(device)) return false;
    while (nbytes > 0) {
      if (buffers_[current_].used == kBufferBytes) turn(device);
      Buffer& buffer = buffers_[current_];
      const size_t now = std::min(nbytes, kBufferBytes - buffer.used);
      std::memcpy(buffer.data + buffer.used, from, now);
      driver().start_copy_to_device(to, buffer.data + buffer.used, now, device);
      buffer.used = std::min(kBufferBytes, buffer.used + (now + kAlignment - 1) / kAlignment * kAlignment);
      to += now, from += now, nbytes -= now;
    }
    return true;
  }

  // Every copy is done at the end, and what the device had to read before with it.
  bool to_host(char* to, const char* from, size_t nbytes, int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_open(device)) return false;
    struct Part {
      char* to = nullptr;
      size_t bytes = 0;
    };
    std::array<Part, 2> parts;
    for (size_t which = 0; nbytes > 0 || parts[0].bytes + parts[1].bytes > 0; which = 1 - which) {
      Buffer& buffer = buffers_[which];
      Part& part = parts[which];
      if (part.bytes > 0) {
        driver().wait_here(device, buffer.event.get());
        std::memcpy(part.to, buffer.data, part.bytes);
      }
      part = {to, std::min(nbytes, kBufferBytes)};
      if (part.bytes == 0) continue;
      driver().start_copy_to_host(buffer.data, from, part.bytes, device);
      buffer.event = driver().record(device);
      buffer.used = 0;
      to += part.bytes, from += part.bytes, nbytes -= part.bytes;
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::array<Buffer, 2> buffers_;
  size_t current_ = 0;

  // Both buffers, or none.
  bool is_open(int device) {
    if (buffers_[0].data != nullptr) return true;
    void* const first = take_pinned(kBufferBytes, device);
    if (first == nullptr) return false;
    void* const second = take_pinned(kBufferBytes, device);
    if (second == nullptr) {
      give_pinned(first);
      return false;
    }
    buffers_[0].data = static_cast<char*>(first);
    buffers_[1].data = static_cast<char*>(second);
    return true;
  }
  // To the other buffer, once the device has read it.
  void turn(int device) {
    buffers_[current_].event = driver().record(device);
    current_ = 1 - current_;
    Buffer& next = buffers_[current_];
    if (next.event != nullptr) driver().wait_here(device, next.event.get());
    next.used = 0;
  }
};
Stage& stage_of(int device) {
  static Stage* const stages = new Stage[kMostDevices];
  return stages[static_cast<size_t>(device)];
}

}  // namespace

// Recording is refused before a stage's lock is taken, so that the thread that records never waits for one:
// who has it waits for the lock of submissions.
void copy_to_device(void* to, const void* from, size_t nbytes, int device) {
  const Driver& gpu = driver();
  gpu.refuse_recording("a copy to the GPU", device);
  if (is_pinned(from)) {
    gpu.start_copy_to_device(to, from, nbytes, device);
    gpu.wait_here(device, gpu.record(device).get());
    return;
  }
  if (!stage_of(device).to_device(static_cast<char*>(to), static_cast<const char*>(from), nbytes, device))
    gpu.copy_to_device(to, from, nbytes, device);
}

void copy_to_host(void* to, const void* from, size_t nbytes, int device) {
  const Driver& gpu = driver();
  gpu.refuse_recording("a copy to the host", device);
  if (is_pinned(to)) {
    gpu.start_copy_to_host(to, from, nbytes, device);
    gpu.wait_here(device, gpu.record(device).get());
    return;
  }
  if (!stage_of(device).to_host(static_cast<char*>(to), static_cast<const char*>(from), nbytes, device))
    gpu.copy_to_host(to, from, nbytes, device);
}

void start_copy_to_device(void* to, const void* from, size_t nbytes, int device) {
  if (!is_pinned(from)) return copy_to_device(to, from, nbytes, device);
  driver().start_copy_to_device(to, from, nbytes, device);
  note_copy(from, device, driver().record(device));
}

void start_copy_to_host(void* to, const void* from, size_t nbytes, int device) {
  if (!is_pinned(to)) return copy_to_host(to, from, nbytes, device);
  driver().start_copy_to_host(to, from, nbytes, device);
  note_copy(to, device, driver().record(device));
}

}  // namespace weft::cuda
