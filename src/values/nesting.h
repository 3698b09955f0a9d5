// How containers and objects hold each other.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "weft/ivalue.h"

namespace weft::jit {

// The address of a list, dictionary, tuple or object; null for any other value.
const void* container_address(const IValue& value);

// Every container that can be reached from `root`. ValueError where one contains itself or they are nested
// deeper than `max_depth`, so that a recursive walk afterwards is safe. Does not recurse itself.
std::unordered_set<const void*> check_nesting(const IValue& root, size_t max_depth);

// Keeps containers alive while they are made, and takes apart those that are not kept, one by one: dropping a
// chain of a million lists by its head would recurse as deep, and a cycle would never go.
class ContainerPool {
 public:
  ContainerPool() = default;
  ~ContainerPool();
  ContainerPool(const ContainerPool&) = delete;
  ContainerPool& operator=(const ContainerPool&) = delete;
  IValue add(IValue container) { return containers_.emplace_back(std::move(container)); }
  void keep(std::unordered_set<const void*> kept) { kept_ = std::move(kept); }

 private:
  std::vector<IValue> containers_;
  std::unordered_set<const void*> kept_;
};

}  // namespace weft::jit
