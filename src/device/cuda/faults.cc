#include "device/cuda/faults.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "device/cuda/driver.h"
#include "weft/error.h"

namespace weft::cuda {
namespace {

constexpr size_t kBytes = 512;

struct Faults {
  std::mutex mutex;
  std::vector<std::string> messages;
  std::map<std::string, int64_t> codes;
  std::array<void*, kMostDevices> words{};
  std::array<std::atomic<bool>, kMostDevices> may_be{};
};
Faults& faults() {
  static Faults& instance = *new Faults;
  return instance;
}

}  // namespace

// Before the lock of faults, that of submissions: the thread that records has it and asks for the word.
void* fault_word(int device) {
  Faults& f = faults();
  const auto order = driver().submitting(device);
  const std::lock_guard<std::mutex> lock(f.mutex);
  void*& word = f.words[static_cast<size_t>(device)];
  if (word == nullptr) {
    driver().refuse_recording("the first word for faults", device);
    void* const first = driver().allocate(kBytes, device);
    if (first == nullptr) throw_error(ErrorKind::Memory, "cuda: there is no memory for a word of 8 bytes");
    const int64_t none = 0;
    driver().copy_to_device(first, &none, sizeof none, device);
    word = first;
  }
  f.may_be[static_cast<size_t>(device)] = true;
  return word;
}

int64_t fault_code(const std::string& message) {
  Faults& f = faults();
  const std::lock_guard<std::mutex> lock(f.mutex);
  const auto [found, is_new] = f.codes.try_emplace(message, static_cast<int64_t>(f.messages.size()) + 1);
  if (is_new) f.messages.push_back(message);
  return found->second;
}

void expect_faults(int device) { faults().may_be[static_cast<size_t>(device)] = true; }

void check_faults(int device) {
  Faults& f = faults();
  if (!f.may_be[static_cast<size_t>(device)].exchange(false)) return;
  const auto order = driver().submitting(device);
  const std::lock_guard<std::mutex> lock(f.mutex);
  void* const word = f.words[static_cast<size_t>(device)];
  if (word == nullptr) return;
  int64_t code = 0;
  driver().copy_to_host(&code, word, sizeof code, device);
  if (code == 0) return;
  const int64_t none = 0;
  driver().copy_to_device(word, &none, sizeof none, device);
  const size_t at = static_cast<size_t>(code) - 1;
  throw_error(ErrorKind::Index, at < f.messages.size() ? f.messages[at] : "cuda: an unknown fault");
}

}  // namespace weft::cuda
