#include "compiler/recorded_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/log.h"

namespace weft::compiler {
namespace {

constexpr size_t kMostEntries = 16;
constexpr int kMostAttempts = 3;  // inputs whose addresses change are copied from the next attempt on

std::vector<const void*> addresses_of(const std::vector<Tensor>& inputs) {
  std::vector<const void*> addresses;
  addresses.reserve(inputs.size());
  for (const Tensor& input : inputs) addresses.push_back(input.data());
  return addresses;
}

bool shares_memory(const Tensor& result, const std::vector<Tensor>& others) {
  return std::any_of(others.begin(), others.end(), [&](const Tensor& other) {
    return other.defined() && other.storage() == result.storage();
  });
}

}  // namespace

bool RecordedRuns::record(Entry& entry, const std::vector<Tensor>& inputs, const Steps& steps) const {
  ++entry.attempts;
  entry.work = nullptr;
  entry.results.clear();
  entry.copies.resize(inputs.size());
  std::vector<Tensor> known = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (entry.copies[i].defined() || entry.addresses[i] != inputs[i].data()) {
      if (!inputs[i].is_contiguous()) return false;
      if (!entry.copies[i].defined())
        entry.copies[i] = Tensor::empty(inputs[i].shape(), inputs[i].dtype(), device_);
      known[i] = entry.copies[i];
    }
  }
  entry.addresses = addresses_of(inputs);
  entry.work = backend_of(device_).record_work(device_.index, [&] { entry.results = steps(known); });
  if (entry.work == nullptr) return false;
  const bool is_apart = std::none_of(entry.results.begin(), entry.results.end(), [&](const Tensor& result) {
    return result.device() != device_ || shares_memory(result, known);
  });
  if (is_apart) {
    log::write(log::Channel::Schedule, fmt::format("{}: a run is recorded on {}", name_, device_.str()));
    return true;
  }
  entry.work = nullptr;
  entry.results.clear();
  log::write(log::Channel::Schedule,
             fmt::format("{}: not recorded: a result is in the memory of an input", name_));
  return false;
}

bool RecordedRuns::fits(const Entry& entry, const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (entry.copies[i].defined() ? !inputs[i].is_contiguous() : entry.addresses[i] != inputs[i].data())
      return false;
  }
  return true;
}

std::vector<Tensor> RecordedRuns::repeat(const Entry& entry, const std::vector<Tensor>& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (entry.copies[i].defined()) entry.copies[i].copy_from(inputs[i]);
  entry.work->repeat();
  for (const size_t i : written_)
    if (entry.copies[i].defined()) inputs[i].copy_from(entry.copies[i]);
  std::vector<Tensor> results;
  for (const Tensor& result : entry.results) results.push_back(result.clone());
  return results;
}

std::vector<Tensor> RecordedRuns::run(const std::vector<int64_t>& sizes, const std::vector<Tensor>& inputs,
                                      const Steps& steps) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& entry) { return entry.sizes == sizes; });
  if (found == entries_.end()) {
    if (entries_.size() >= kMostEntries) entries_.erase(entries_.begin());
    entries_.push_back(
        {.sizes = sizes, .addresses = addresses_of(inputs), .copies = {}, .results = {}, .work = nullptr});
    return steps(inputs);
  }
  std::rotate(found, found + 1, entries_.end());
  Entry& entry = entries_.back();
  if (entry.is_refused) return steps(inputs);
  if (entry.work != nullptr && fits(entry, inputs)) return repeat(entry, inputs);
  if (entry.attempts >= kMostAttempts || !record(entry, inputs, steps)) {
    entry.is_refused = true;
    entry.work = nullptr;
    entry.results.clear(), entry.copies.clear();
    return steps(inputs);
  }
  return repeat(entry, inputs);
}

std::string RecordedRuns::str() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto recorded =
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.work != nullptr; });
  const auto refused =
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.is_refused; });
  return fmt::format("runs of {} sizes are recorded, of {} not", recorded, refused);
}

}  // namespace weft::compiler
