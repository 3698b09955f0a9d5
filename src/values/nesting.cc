#include "values/nesting.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "weft/error.h"

namespace weft::jit {

namespace {

size_t num_children(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::List:
    case IValue::Tag::Tuple: return value.elements().size();
    case IValue::Tag::Dict: return 2 * value.to_dict()->size();
    case IValue::Tag::Object: return value.to_object()->slots.size();
    default: return 0;
  }
}

const IValue& child(const IValue& value, size_t i) {
  switch (value.tag()) {
    case IValue::Tag::Dict: {
      const Dict::Item& item = value.to_dict()->items()[i / 2];
      return i % 2 == 0 ? item.first : item.second;
    }
    case IValue::Tag::Object: return value.to_object()->slots[i];
    default: return value.elements()[i];
  }
}

void clear(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::List: value.to_list()->values.clear(); break;
    case IValue::Tag::Tuple: value.to_tuple()->values.clear(); break;
    case IValue::Tag::Dict: value.to_dict()->clear(); break;
    case IValue::Tag::Object: value.to_object()->slots.clear(); break;
    default: break;
  }
}

constexpr size_t kOpen = static_cast<size_t>(-1);  // the height of a container that is being visited

struct Frame {
  IValue value;
  size_t next = 0, height = 0;
};

}  // namespace

const void* container_address(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::List: return value.to_list().get();
    case IValue::Tag::Tuple: return value.to_tuple().get();
    case IValue::Tag::Dict: return value.to_dict().get();
    case IValue::Tag::Object: return value.to_object().get();
    default: return nullptr;
  }
}

std::unordered_set<const void*> check_nesting(const IValue& root, size_t max_depth) {
  std::unordered_map<const void*, size_t> heights;
  std::vector<Frame> stack;
  const auto enter = [&](const IValue& value) {
    heights.emplace(container_address(value), kOpen);
    stack.push_back({value});
  };
  if (container_address(root)) enter(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == num_children(frame.value)) {
      const size_t height = frame.height + 1;
      WEFT_CHECK(height <= max_depth, fmt::format("containers are nested deeper than {}", max_depth));
      heights[container_address(frame.value)] = height;
      stack.pop_back();
      if (!stack.empty()) stack.back().height = std::max(stack.back().height, height);
      continue;
    }
    const IValue& inner = child(frame.value, frame.next++);
    const void* address = container_address(inner);
    if (!address) continue;
    const auto found = heights.find(address);
    if (found == heights.end()) {
      enter(inner);
    } else {
      WEFT_CHECK(found->second != kOpen, fmt::format("a {} contains itself", str(inner.tag())));
      frame.height = std::max(frame.height, found->second);
    }
  }
  std::unordered_set<const void*> reached;
  reached.reserve(heights.size());
  for (const auto& [address, height] : heights) reached.insert(address);
  return reached;
}

ContainerPool::~ContainerPool() {
  for (const IValue& container : containers_) {
    if (!kept_.contains(container_address(container))) clear(container);
  }
}

}  // namespace weft::jit
