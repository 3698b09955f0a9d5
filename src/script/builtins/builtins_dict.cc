// Dictionary methods, for each type of key that TorchScript's overloads have.
#include <fmt/format.h>

#include "script/builtins/builtin.h"
#include "values/containers.h"
#include "weft/error.h"

namespace weft::jit {
namespace {

using DictPtr = std::shared_ptr<Dict>;
constexpr bool kReads = false;  // what reads a dictionary must stay after what wrote it

[[noreturn]] void no_key(const IValue& key) {
  throw_error(ErrorKind::Runtime, fmt::format("KeyError: {}", key.repr()));
}

IValue get_item(const DictPtr& self, IValue& key) {
  const IValue* found = self->find(key);
  if (!found) no_key(key);
  return *found;
}

IValue get(const DictPtr& self, IValue& key, IValue& otherwise) {
  const IValue* found = self->find(key);
  return found ? *found : otherwise;
}
IValue get_or_none(const DictPtr& self, IValue& key) {
  const IValue* found = self->find(key);
  return found ? *found : IValue();
}

IValue take(Dict& self, const IValue& key, const IValue& found) {
  IValue value = found;
  self.erase(key);
  return value;
}
IValue pop(const DictPtr& self, IValue& key) {
  const IValue* found = self->find(key);
  if (!found) no_key(key);
  return take(*self, key, *found);
}
IValue pop_or(const DictPtr& self, IValue& key, IValue& otherwise) {
  const IValue* found = self->find(key);
  return found ? take(*self, key, *found) : otherwise;
}

// The item added first, as PyTorch's: Python's is the one added last.
IValue pop_item(const DictPtr& self) {
  if (self->size() == 0) throw_error(ErrorKind::Runtime, "KeyError: popitem(): dictionary is empty");
  const Dict::Item item = self->items().front();
  self->erase(item.first);
  return IValue::tuple({item.first, item.second});
}

IValue set_default(const DictPtr& self, IValue& key, IValue& otherwise) {
  if (const IValue* found = self->find(key)) return *found;
  self->set(key, otherwise);
  return otherwise;
}

IValue copy(const DictPtr& self) {
  IValue result = IValue::dict(self->key, self->value);
  for (const auto& [key, value] : self->items()) result.to_dict()->set(key, value);
  return result;
}

void update(const DictPtr& self, const DictPtr& other) {
  const std::vector<Dict::Item> items = other->items();
  for (const auto& [key, value] : items) self->set(key, value);
}

IValue keys(const DictPtr& self) {
  std::vector<IValue> result;
  for (const auto& [key, value] : self->items()) result.push_back(key);
  return IValue::list(self->key, std::move(result));
}
IValue values(const DictPtr& self) {
  std::vector<IValue> result;
  for (const auto& [key, value] : self->items()) result.push_back(value);
  return IValue::list(self->value, std::move(result));
}
IValue items(const DictPtr& self) {
  std::vector<IValue> result;
  for (const auto& [key, value] : self->items()) result.push_back(IValue::tuple({key, value}));
  return IValue::list(Type::tuple({self->key, self->value}), std::move(result));
}

// From pairs; the later of equal keys counts.
IValue from_items(const std::shared_ptr<List>& pairs) {
  const std::vector<TypePtr>& types = pairs->element->elements();
  WEFT_CHECK_TYPE(types.size() == 2,
                  fmt::format("dict: expected a list of pairs, got List[{}]", pairs->element->str()));
  IValue result = IValue::dict(types[0], types[1]);
  for (const IValue& pair : pairs->values)
    result.to_dict()->set(pair.elements().at(0), pair.elements().at(1));
  return result;
}

#define WEFT_DICT_METHODS(K, TYPE)                                                                           \
  builtin(                                                                                                   \
      "aten::len.Dict_" K "(Dict(" TYPE ", t) self) -> int",                                                 \
      [](const DictPtr& self) { return static_cast<int64_t>(self->size()); }, kReads);                       \
  builtin("aten::__getitem__.Dict_" K "(Dict(" TYPE ", t) self, " TYPE " key) -> t(*)", Call<get_item>{},    \
          kReads);                                                                                           \
  builtin(                                                                                                   \
      "aten::__contains__." K "(Dict(" TYPE ", t) dict, " TYPE " key) -> bool",                              \
      [](const DictPtr& dict, IValue& key) { return dict->find(key) != nullptr; }, kReads);                  \
  builtin("aten::_set_item." K "(Dict(" TYPE ", t)(a!) l, " TYPE " idx, t v) -> ()",                         \
          [](const DictPtr& l, IValue& key, IValue& value) { l->set(key, value); });                         \
  builtin("aten::Delete.Dict_" K "(Dict(" TYPE ", t)(a!) self, " TYPE " key) -> ()",                         \
          [](const DictPtr& self, IValue& key) {                                                             \
            if (!self->erase(key)) no_key(key);                                                              \
          });                                                                                                \
  builtin("aten::get." K "(Dict(" TYPE ", t) self, " TYPE " key) -> t(*)?", Call<get_or_none>{}, kReads);    \
  builtin("aten::get.default_" K "(Dict(" TYPE ", t) self, " TYPE " key, t default_value) -> t(*)",          \
          Call<get>{}, kReads);                                                                              \
  builtin("aten::setdefault." K "(Dict(" TYPE ", t)(a!) self, " TYPE " key, t default_value) -> t(*)",       \
          Call<set_default>{});                                                                              \
  builtin("aten::pop.Dict_" K "(Dict(" TYPE ", t)(a!) self, " TYPE " key) -> t(*)", Call<pop>{});            \
  builtin("aten::pop.Dict_default_" K "(Dict(" TYPE ", t)(a!) self, " TYPE " key, t default_value) -> t(*)", \
          Call<pop_or>{});                                                                                   \
  builtin("aten::popitem." K "(Dict(" TYPE ", t)(a!) self) -> ((" TYPE ", t))", Call<pop_item>{});           \
  builtin("aten::clear." K "(Dict(" TYPE ", t)(a!) self) -> ()",                                             \
          [](const DictPtr& self) { self->clear(); });                                                       \
  builtin("aten::update." K "(Dict(" TYPE ", t)(a!) self, Dict(" TYPE ", t)(a!) to_add) -> ()",              \
          Call<update>{});                                                                                   \
  builtin("aten::keys." K "(Dict(" TYPE ", t) self) -> " TYPE "[](*)", Call<keys>{}, kReads);                \
  builtin("aten::values." K "(Dict(" TYPE ", t) self) -> t[](*)", Call<values>{}, kReads);                   \
  builtin("aten::items." K "(Dict(" TYPE ", t) self) -> ((" TYPE ", t)[])", Call<items>{}, kReads);          \
  builtin("aten::copy.Dict_" K "(Dict(" TYPE ", t)(a) self) -> Dict(" TYPE ", t)", Call<copy>{}, kReads);    \
  builtin("aten::dict.Dict_" K "(Dict(" TYPE ", t)(a) self) -> Dict(" TYPE ", t)", Call<copy>{}, kReads);    \
  builtin("aten::dict." K "((" TYPE ", tVal)[] inputs) -> Dict(" TYPE ", tVal)", Call<from_items>{}, kReads);

int register_dicts() {
  WEFT_DICT_METHODS("str", "str")
  WEFT_DICT_METHODS("int", "int")
  WEFT_DICT_METHODS("float", "float")
  WEFT_DICT_METHODS("bool", "bool")
  WEFT_DICT_METHODS("complex", "complex")
  WEFT_DICT_METHODS("Tensor", "Tensor")
  return 0;
}

[[maybe_unused]] const int registered_dict = register_dicts();

}  // namespace
}  // namespace weft::jit
