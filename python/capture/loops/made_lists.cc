// Lists that native loops make: a row per round, copies, joined and repeated ones. They are lists of
// resized.cc behind an address.
#include <fmt/format.h>

#include "capture/loops/builder.h"

namespace weft::capture {

// A new list, made by the current instruction. Lists that nothing refers to any more are used again.
LoopValue LoopBuilder::made_list(const std::vector<LoopValue>& items) {
  const auto [made, is_new] = result_.objects.made_lists.try_emplace(
      std::pair(before_.back().code, before_.back().ip), static_cast<int>(result_.objects.item_types.size()));
  if (is_new) result_.objects.item_types.emplace_back();
  const std::string live = live_addresses(
      [](const LoopValue& value) { return value.kind == LoopKind::ListAddress ? value.expr : ""; });
  block_stores_arrays_ = true;
  LoopValue address, list;
  address.kind = LoopKind::ListAddress;
  address.expr =
      temporary("ResizedList*", fmt::format("{}({}, {})", function("new_list"), made->second, live));
  require(address.expr + " != nullptr");
  list.kind = LoopKind::Resized;
  list.index = made->second;
  list.items = {std::move(address)};
  append_items(list, items);
  return list;
}

bool LoopBuilder::is_list(const LoopValue& value) const {
  return value.kind == LoopKind::List || value.kind == LoopKind::Resized ||
         (value.kind == LoopKind::Vector && array_of(value).writable);
}

// Adds the items of a list or tuple to `list`.
void LoopBuilder::add_items(const LoopValue& list, const LoopValue& more) {
  if (more.kind == LoopKind::List || more.kind == LoopKind::Tuple) return append_items(list, more.items);
  block_stores_arrays_ = true;
  if (more.kind == LoopKind::Vector) {
    block_has_arrays_ = true;  // all of its elements are read
    const LoopValue item = more.dtype == DType::F64    ? loop_float("")
                           : more.dtype == DType::Bool ? loop_bool("")
                                                       : loop_int("");
    const size_t tag = number_of_type(list, item);
    require(fmt::format("add_numbers<{}>({}, {}, {}, {}, {})", item_shape(list), list_text(list),
                        data_text(more), size_text(more, 0), tag, function("grow_list")));
    return;
  }
  const std::vector<LoopValue> types = item_types(more);
  if (types.empty()) return require(fmt::format("{}->size == 0", list_text(more)));
  std::string tags;
  for (const LoopValue& type : types)
    tags += fmt::format("{}{}", tags.empty() ? "" : ", ", number_of_type(list, type));
  const std::string name = fresh_name("tags");
  emit(fmt::format("const u8 {}[] = {{{}}};", name, tags));
  require(fmt::format("add_items<{}, {}>({}, {}, {}, {})", item_shape(list), types.size() > 1,
                      list_text(list), list_text(more), name, function("grow_list")));
}

// A new list with the items of these, one after the other.
LoopValue LoopBuilder::joined_lists(const std::vector<LoopValue>& lists) {
  LoopValue joined = made_list({});
  for (const LoopValue& list : lists) add_items(joined, list);
  return joined;
}

// [items] * times
LoopValue LoopBuilder::repeated_list(const LoopValue& items, const LoopValue& times) {
  const LoopValue list = made_list(items.items);
  if (items.items.empty()) return list;
  require(fmt::format("repeat_items<{}>({}, {}, {})", item_shape(list), list_text(list), as_index(times),
                      function("grow_list")));
  return list;
}

LoopValue LoopBuilder::as_object(LoopValue value) {
  if (value.kind == LoopKind::List) return made_list(value.items);
  return value;
}

}  // namespace weft::capture
