// What copies of the program's own objects are made of; the copies themselves are in
// _entered_library/copying.py.
#include "capture/builtins/builtins.h"
#include "capture/evaluate/evaluator.h"
#include "capture/objects/classes.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// Does a class say itself what a copy of its instances is?
bool says_how_to_copy(PyTypeObject* type) {
  for (const char* name : {"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
                           "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__slots__"}) {
    const Ref text = checked(PyUnicode_InternFromString(name));
    PyObject* const found = _PyType_Lookup(type, text.get());
    if (found && found != _PyType_Lookup(&PyBaseObject_Type, text.get())) return true;
  }
  return false;
}

// An instance whose state is its attributes.
V has_plain_state(Evaluator& ev, CallArgs& args) {
  const V value = ev.realize(args.args.at(0));
  return bool_value(
      value->kind == Kind::Instance && !stood_for(value) && is_instantiable(value->object_type) &&
      value->object_type->tp_new == PyBaseObject_Type.tp_new && !says_how_to_copy(value->object_type));
}

// The attributes that an instance has of its own, in their order.
V attributes_of(Evaluator& ev, CallArgs& args) {
  const V value = ev.realize(args.args.at(0));
  V attributes = make_value(Kind::Dict);
  if (value->source) {
    // Exceptions alone keep something else there.
    if (value->attributes.empty()) {
      const Ref dict = checked(PyObject_GenericGetDict(value->object.get(), nullptr));
      value->attributes = {ev.unify(lazy_value(dict.get(), make_source({.step = Source::Step::InstanceDict,
                                                                        .base = value->source,
                                                                        .key = {},
                                                                        .object = {},
                                                                        .object2 = {}})))};
    }
    const V given = ev.realize(value->attributes[0]);
    attributes->keys = given->keys;
    attributes->items = given->items;
  }
  // What the segment has read, set and added.
  for (size_t i = 0; i < value->keys.size(); ++i)
    set_dict_item(ev, attributes, value->keys[i], value->items[i]);
  return attributes;
}

}  // namespace

void register_copying() {
  register_lowering("weft._entered_library.copying.has_plain_state", has_plain_state);
  register_lowering("weft._entered_library.copying.attributes_of", attributes_of);
}

}  // namespace weft::capture
