#include "capture/values/value.h"

#include <fmt/format.h>

#include <utility>

#include "ops/tracer.h"

namespace weft::capture {

std::string Source::str() const {
  const auto address = [](const Ref& ref) { return fmt::format("{}", static_cast<const void*>(ref.get())); };
  switch (step) {
    case Step::Local:
      return fmt::format("local[{}].{}", frame, key ? utf8(key.get()) : std::to_string(index));
    case Step::Stack: return fmt::format("stack[{}][{}]", frame, index);
    case Step::Extra: return fmt::format("extra[{}]", frame);
    case Step::Pinned: return fmt::format("<{}>", address(object));
    case Step::Global: return fmt::format("global<{}>.{}", address(object), utf8(key.get()));
    case Step::ModuleAttr: return fmt::format("module<{}>.{}", address(object), utf8(key.get()));
    case Step::Attribute: return fmt::format("{}.{}", base->str(), utf8(key.get()));
    case Step::InstanceDict: return base->str() + ".__dict__";
    case Step::DictItem: return fmt::format("{}[{}]", base->str(), short_repr(key.get(), 200));
    case Step::TupleItem:
    case Step::ListItem: return fmt::format("{}[{}]", base->str(), index);
    case Step::CellContents: return base->str() + ".cell_contents";
    case Step::MethodSelf: return base->str() + ".__self__";
    case Step::TensorArray: return base->str() + ".numpy()";
    case Step::Size: return fmt::format("size({})", sym.str());
    case Step::Computed: {
      const auto text = [](const SourceRef& number) {
        return number->step == Step::Pinned ? short_repr(number->object.get(), 200) : number->str();
      };
      return fmt::format("{}({}{})",
                         object ? callable_name(object.get()) : fmt::format("operation {}", index),
                         text(base), second ? ", " + text(second) : "");
    }
  }
  return "?";
}

SourceRef make_source(Source source) { return std::make_shared<const Source>(std::move(source)); }
SourceRef pinned_source(PyObject* object) {
  return make_source(
      {.step = Source::Step::Pinned, .base = {}, .key = {}, .object = Ref::borrow(object), .object2 = {}});
}

V make_value(Kind kind) {
  V value = std::make_shared<Value>();
  value->kind = kind;
  return value;
}

V const_value(Ref object) {
  V value = make_value(Kind::Const);
  value->object = std::move(object);
  return value;
}

V lazy_value(PyObject* object, SourceRef source) {
  V value = make_value(Kind::Lazy);
  value->object = Ref::borrow(object);
  value->source = std::move(source);
  return value;
}

V tuple_value(std::vector<V> items) {
  V value = make_value(Kind::Tuple);
  value->items = std::move(items);
  return value;
}

V list_value(std::vector<V> items) {
  V value = make_value(Kind::List);
  value->items = std::move(items);
  return value;
}

V int_value(int64_t value) { return const_value(checked(PyLong_FromLongLong(value))); }
V none_value() { return const_value(Ref::borrow(Py_None)); }
V bool_value(bool value) { return const_value(Ref::borrow(value ? Py_True : Py_False)); }
V str_value(const std::string& text) {
  return const_value(checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()))));
}

V array_value(Tensor tensor, Flavor flavor) {
  if (tensor.dim() > kMostDimensions) graph_break("an array of more dimensions than NumPy's have");
  V value = make_value(Kind::Array);
  // An array of known elements is a value of the graph too: it may be assigned to, and every run has its own.
  if (ops::Tracer* tracer = ops::current_tracer();
      tracer && flavor == Flavor::NdArray && !tensor.is_traced() && tensor.dim() > 0)
    tensor = tracer->record(ops::get_op("cast"), {{tensor}, {{"dtype", tensor.dtype()}}}).at(0);
  value->tensor = std::move(tensor);
  value->flavor = flavor;
  return value;
}

V sym_value(Sym sym) {
  if (sym.is_constant()) return int_value(sym.constant());
  V value = make_value(Kind::SymInt);
  value->sym = sym;
  return value;
}

void graph_break(std::string reason) { throw GraphBreak{std::move(reason)}; }

}  // namespace weft::capture
