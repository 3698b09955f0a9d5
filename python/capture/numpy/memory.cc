// What NumPy tells of an array's memory (flags, strides, base), its elements in a row (.flat), and its bytes
// as another dtype.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "capture/numpy/names.h"
#include "capture/objects/numpy_api.h"
#include "capture/values/memory_order.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

[[noreturn]] void end_segment(std::string reason) {
  throw GraphBreak{.reason = std::move(reason), .is_planned = true};
}

// The attribute of an object that the program was given, as it is there.
V given_attribute(const V& owner, const std::string& name) {
  const Ref key = checked(PyUnicode_InternFromString(name.c_str())),
            value = checked(PyObject_GetAttr(owner->object.get(), key.get()));
  return lazy_value(
      value.get(),
      make_source(
          {.step = Source::Step::Attribute, .base = owner->source, .key = key, .object = {}, .object2 = {}}));
}

template <const char* kName>
V layout(Evaluator&, const V& array) {
  if (!array->source || array->flavor != Flavor::NdArray)
    end_segment(std::string(kName) + " of an array that was made inside");
  return given_attribute(array, kName);
}
constexpr char kStrides[] = "strides", kFlags[] = "flags";

// None for an array with memory of its own; NumPy names the first owner of a view's.
V base(Evaluator&, const V& array) {
  V owner = array;
  while (owner->view_of) owner = owner->view_of;
  if (array->flavor != Flavor::NdArray) end_segment("base of a view");
  if (!owner->source) return owner == array ? none_value() : owner;
  const Ref real = checked(PyObject_GetAttrString(owner->object.get(), "base"));
  V outer = given_attribute(owner, "base");
  return owner == array || real.get() != Py_None ? outer : owner;
}

V flat(Evaluator&, const V& array) {
  if (array->flavor != Flavor::NdArray) graph_break("flat of a NumPy scalar");
  V value = make_value(Kind::Bound);
  value->items = {array};
  value->name = "flat";
  return value;
}

V view_as(Evaluator& ev, CallArgs& args) {
  const std::vector<V> bound = bind_arguments(args, "a, dtype, type");
  if (!bound[1] || ev.is_none(bound[1]) || bound[2]) graph_break("view() without a dtype");
  const V& array = array_argument(ev, bound[0]);
  const DType from = array->tensor.dtype(), to = to_dtype(ev, bound[1], "view");
  if (from == to && array->flavor == Flavor::NdArray) graph_break("view() in the same dtype");
  const bool same_size = itemsize(from) == itemsize(to);
  if (to == DType::Bool && from != to) graph_break("view() of bytes as truth values");
  if (!same_size &&
      (array->flavor != Flavor::NdArray || array->view_of || !is_contiguous(array->tensor, false)))
    graph_break("view() with elements of another size");
  if (array->flavor != Flavor::NdArray)
    return array_value(ops::call1("bitcast", {array->tensor}, {{"dtype", to}}), array->flavor);
  return view(array, ev.tracer().record_part(ops::get_op("bitcast"), array->tensor, {{"dtype", to}}));
}

bool is_flags(const V& value) {
  return value->kind == Kind::Opaque && value->object &&
         std::string_view(Py_TYPE(value->object.get())->tp_name).ends_with(".flagsobj");
}

// What only looks at arrays: Python performs the call between two segments.
constexpr const char* kFunctions[] = {"numpy.asarray_chkfinite", "numpy.shares_memory",
                                      "numpy.may_share_memory"};
// Of numpy.testing, which imports as much again as NumPy does.
constexpr const char* kAssertions[] = {"assert_",
                                       "assert_allclose",
                                       "assert_almost_equal",
                                       "assert_approx_equal",
                                       "assert_array_almost_equal",
                                       "assert_array_almost_equal_nulp",
                                       "assert_array_equal",
                                       "assert_array_less",
                                       "assert_array_max_ulp",
                                       "assert_equal"};
V look_only(Evaluator&, CallArgs&) { end_segment("a call that only looks at arrays"); }

// numpy.ndarray.flags names each flag twice.
std::string flag_attribute(std::string name) {
  static constexpr std::pair<const char*, const char*> kShort[] = {
      {"C", "c_contiguous"},       {"F", "f_contiguous"}, {"O", "owndata"},
      {"W", "writeable"},          {"A", "aligned"},      {"X", "writebackifcopy"},
      {"CONTIGUOUS", "contiguous"}};
  for (const auto& [letter, attribute] : kShort)
    if (name == letter) return attribute;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

V flags_attribute(Evaluator&, const V& flags, const std::string& name) {
  return is_flags(flags) && flags->source ? given_attribute(flags, name) : nullptr;
}

V flags_item(Evaluator& ev, const V& flags, const V& key) {
  if (!is_flags(flags) || !flags->source) return nullptr;
  const std::string name = flag_attribute(ev.to_string(key, "a flag"));
  if (!PyObject_HasAttrString(flags->object.get(), name.c_str())) graph_break("a flag that is not there");
  return given_attribute(flags, name);
}

void refuse_new_layout(const V& owner, const std::string& name) {
  if (is_flags(owner)) end_segment("a flag of an array is set");
  if (owner->kind == Kind::Array && (name == "shape" || name == "strides" || name == "dtype"))
    end_segment("an array's own " + name + " is set");
}

V flat_elements(Evaluator& ev, const V& value) {
  if (value->kind != Kind::Bound || value->name != "flat" || value->items[0]->kind != Kind::Array)
    return nullptr;
  CallArgs args;
  args.args = {value->items[0]};
  return find_array_method("ravel")(ev, args);
}

void register_numpy_memory() {
  register_array_attribute(kStrides, layout<kStrides>);
  register_array_attribute(kFlags, layout<kFlags>);
  register_array_attribute("base", base);
  register_array_attribute("flat", flat);
  register_array_method("view", view_as);
  for (const char* path : kFunctions) register_lowering(path, look_only);
  for (const char* name : kAssertions) await_lowering("numpy.testing", name, look_only);
  for (const char* name : {"setflags", "tobytes"}) register_array_method(name, look_only);
}

}  // namespace weft::capture
