// What guards need not look at again: objects that are found in dicts which have not changed.
#include <algorithm>
#include <unordered_map>

#include "capture/guards/guards.h"
#include "capture/objects/dict_versions.h"

namespace weft::capture {

namespace {

constexpr size_t kFewSteps = 12;  // are run as quickly as anything is compared
constexpr int kMostMisses = 16;   // in a row, and what changes each time is no longer remembered

PyObject* dict_of(PyObject* object) {
  PyObject** const dict = _PyObject_GetDictPtr(object);
  return dict ? *dict : nullptr;
}

PyObject* held_by(const GuardStep& load, std::span<const Frame> frames) {
  const Frame& frame = frames[static_cast<size_t>(load.b)];
  if (load.op == GuardOp::Extra) return frame.extra.get();
  return (load.op == GuardOp::Local ? frame.locals : frame.stack)[static_cast<size_t>(load.imm)].get();
}

}  // namespace

bool Guards::is_unchanged(std::span<const Frame> frames) const {
  for (const Unchanged::Root& root : unchanged_.roots)
    if (held_by(root.load, frames) != root.object) return false;
  // An object is there as long as the dict before it holds it.
  return std::all_of(unchanged_.dicts.begin(), unchanged_.dicts.end(), [](const Unchanged::Dict& one) {
    return (!one.owner || dict_of(one.owner) == one.dict) && version_of_dict(one.dict) == one.version;
  });
}

void Guards::remember(const Registers& found) const {
  if (steps_.size() < kFewSteps || ++unchanged_.misses > kMostMisses) {
    unchanged_.is_known = false;
    return;
  }
  Unchanged next;
  next.misses = unchanged_.misses;
  std::vector<bool> is_stable(static_cast<size_t>(num_registers_)), has_dict(is_stable.size());
  for (const GuardStep& step : steps_)
    if (step.op == GuardOp::InstanceDict) has_dict[static_cast<size_t>(step.a)] = true;
  std::unordered_map<PyObject*, PyObject*> owners;  // of dicts
  std::unordered_map<PyObject*, bool> versions;     // dicts that are compared, and whether they can be
  const auto value = [&](int index) { return found.values[static_cast<size_t>(index)]; };
  const auto is_versioned = [&](PyObject* dict) {
    const auto [entry, is_new] = versions.emplace(dict, false);
    if (is_new) {
      const uint64_t version = version_of_dict(dict);
      entry->second = version != 0;
      const auto owner = owners.find(dict);
      if (version) next.dicts.push_back({owner == owners.end() ? nullptr : owner->second, dict, version});
    }
    return entry->second;
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const GuardStep& step = steps_[i];
    const bool is_based = step.a < 0 || is_stable[static_cast<size_t>(step.a)];
    bool stable = false;
    switch (step.op) {
      case GuardOp::Pinned: stable = true; break;
      case GuardOp::Local:
      case GuardOp::Stack:
      case GuardOp::Extra:
        stable = has_dict[static_cast<size_t>(step.dst)];
        if (stable) next.roots.push_back({step, value(step.dst)});
        break;
      case GuardOp::InstanceDict:
        stable = is_based && dict_of(value(step.a)) == value(step.dst);
        if (stable) {
          owners.emplace(value(step.dst), value(step.a));
          stable = is_versioned(value(step.dst));
        }
        break;
      case GuardOp::DictItem:
      case GuardOp::DictKeys:
      case GuardOp::DictLacks: stable = is_based && is_versioned(value(step.a)); break;
      case GuardOp::TupleItem:
      case GuardOp::MethodSelf:
      case GuardOp::Is:
      case GuardOp::Equal:
      case GuardOp::Int:
      case GuardOp::Float: stable = is_based; break;
      case GuardOp::Length: stable = is_based && PyTuple_Check(value(step.a)); break;
      case GuardOp::Same:
      case GuardOp::NotSame: stable = is_based && is_stable[static_cast<size_t>(step.b)]; break;
      default: break;
    }
    if (!stable && step.op != GuardOp::CacheGives)
      next.others.push_back(i);
    else if (stable && step.op <= GuardOp::MethodSelf) {
      is_stable[static_cast<size_t>(step.dst)] = true;
      next.registers.emplace_back(step.dst, value(step.dst));
    }
  }
  next.is_known = !next.dicts.empty();
  unchanged_ = std::move(next);
}

}  // namespace weft::capture
