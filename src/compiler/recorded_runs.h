// Runs of a plan on a device that can repeat what it was given once: mode "reduce-overhead" on GPUs.
//
// The first run of some sizes is as any other; the second is recorded, by the thread that makes it, and
// repeated from then on. Inputs that came at the same addresses both times are read and written where they
// are; of others there is a copy that the recorded work knows, which is filled before and, where it is
// written to, copied back after each run. Results are copies. What waits for elements cannot be recorded:
// such plans run step by step.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.h"
#include "weft/tensor.h"

namespace weft::compiler {

class RecordedRuns {
 public:
  using Steps = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  // `written`: inputs that runs write to.
  RecordedRuns(std::string name, Device device, std::vector<size_t> written)
      : name_(std::move(name)), device_(device), written_(std::move(written)) {}
  // `sizes` tell runs of different work apart. `steps` does what is recorded.
  std::vector<Tensor> run(const std::vector<int64_t>& sizes, const std::vector<Tensor>& inputs,
                          const Steps& steps);
  std::string str() const;

 private:
  struct Entry {
    std::vector<int64_t> sizes;
    std::vector<const void*> addresses;  // of the last run that was not repeated
    std::vector<Tensor> copies;          // undefined: read where it is
    std::vector<Tensor> results;
    std::unique_ptr<RecordedWork> work;
    int attempts = 0;
    bool is_refused = false;
  };
  bool record(Entry& entry, const std::vector<Tensor>& inputs, const Steps& steps) const;
  bool fits(const Entry& entry, const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> repeat(const Entry& entry, const std::vector<Tensor>& inputs) const;

  const std::string name_;
  const Device device_;
  const std::vector<size_t> written_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the one used last at the end
};

}  // namespace weft::compiler
