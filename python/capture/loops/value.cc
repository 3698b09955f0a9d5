#include "capture/loops/value.h"

#include <fmt/format.h>
#include <opcode.h>

#include <algorithm>
#include <cmath>

namespace weft::capture {

LoopAffineRef affine_atom(const Expr& expr) {
  return std::make_shared<const LoopAffine>(LoopAffine{Expr(), expr, 1, {expr}, expr, 0});
}

LoopAffineRef affine_literal(int64_t value) {
  if (value < -(1 << 20) || value > 1 << 20) return nullptr;
  return std::make_shared<const LoopAffine>(LoopAffine{Expr(), loopir::integer(value), 0, {}, Expr(), value});
}

LoopAffineRef affine_sum(const LoopAffineRef& a, const LoopAffineRef& b, bool minus) {
  if (!a || !b) return nullptr;
  if (!a->factor.empty() && !b->factor.empty() && a->counter != b->counter) return nullptr;
  const auto sum_of = [&](const Expr& x, const Expr& y) {
    return in_brackets(Expr::apply(op::infix(minus ? "-" : "+"), {x, y}));
  };
  LoopAffine sum{a->factor, sum_of(a->base, b->base), std::max(a->degree, b->degree), a->atoms};
  if (!b->factor.empty())
    sum.factor = a->factor.empty() && !minus
                     ? b->factor
                     : sum_of(a->factor.empty() ? loopir::integer(0) : a->factor, b->factor);
  if (b->form.empty() || (a->form.empty() && !minus))
    sum.form = b->form.empty() ? a->form : b->form;
  else
    sum.form = sum_of(a->form, b->form);
  if (minus ? __builtin_sub_overflow(a->constant, b->constant, &sum.constant)
            : __builtin_add_overflow(a->constant, b->constant, &sum.constant))
    return nullptr;
  sum.counter = b->factor.empty() ? a->counter : b->counter;
  sum.atoms.insert(b->atoms.begin(), b->atoms.end());
  if (sum.base.text().size() > 400) return nullptr;
  return std::make_shared<const LoopAffine>(std::move(sum));
}

bool equal(const LoopAffineRef& a, const LoopAffineRef& b) {
  return a && b && a->factor == b->factor && a->base == b->base && a->counter == b->counter;
}

LoopAffineRef affine_product(const LoopAffineRef& a, const LoopAffineRef& b) {
  if (!a || !b || a->degree + b->degree > 2 || (!a->factor.empty() && !b->factor.empty())) return nullptr;
  // Literals are below 2^20.
  const auto product_of = [](const Expr& x, const Expr& y) {
    return in_brackets(Expr::apply(op::infix("*"), {x, y}));
  };
  LoopAffine product{Expr(), product_of(a->base, b->base), std::min(2, a->degree + b->degree + 1), a->atoms};
  if (!a->factor.empty()) product.factor = product_of(a->factor, b->base);
  if (!b->factor.empty()) product.factor = product_of(b->factor, a->base);
  const bool is_literal = a->form.empty() && b->form.empty();
  if (is_literal && __builtin_mul_overflow(a->constant, b->constant, &product.constant)) return nullptr;
  if (!is_literal) product.form = product.base;
  product.counter = b->factor.empty() ? a->counter : b->counter;
  product.atoms.insert(b->atoms.begin(), b->atoms.end());
  return std::make_shared<const LoopAffine>(std::move(product));
}

Expr cast(const std::string& type, const Expr& value) { return Expr::apply(op::kCast, {value}, type); }
Expr in_brackets(const Expr& value) { return Expr::apply(op::kBrackets, {value}); }
Expr both(const Expr& a, const Expr& b) { return Expr::apply(op::kAnd, {a, b}); }

LoopValue loop_int(Expr expr, bool nonnegative) {
  LoopValue value;
  value.kind = LoopKind::Int;
  value.expr = std::move(expr);
  value.nonnegative = nonnegative;
  return value;
}

LoopValue loop_known_int(int64_t number) {
  LoopValue value = loop_int(Expr::constant(integer_literal(number)), number >= 0);
  value.known = number;
  value.affine = affine_literal(number);
  return value;
}

LoopValue loop_float(Expr expr) {
  LoopValue value;
  value.kind = LoopKind::Float;
  value.expr = std::move(expr);
  return value;
}

LoopValue loop_known_float(double number) {
  LoopValue value = loop_float(Expr::constant(float_literal(number)));
  value.known_float = number;
  return value;
}

LoopValue loop_bool(Expr expr) {
  LoopValue value;
  value.kind = LoopKind::Bool;
  value.expr = std::move(expr);
  return value;
}

LoopValue loop_numpy(DType dtype, Expr expr) {
  LoopValue value;
  value.kind = LoopKind::Numpy;
  value.dtype = dtype;
  value.expr = std::move(expr);
  return value;
}

LoopValue as_numpy_scalar(LoopValue value) {
  if (value.kind == LoopKind::Numpy) return value;
  value.dtype = value.kind == LoopKind::Int     ? DType::I64
                : value.kind == LoopKind::Float ? DType::F64
                                                : DType::Bool;
  value.kind = LoopKind::Numpy;
  value.affine.reset();
  value.nonnegative = value.is_counter = false;
  return value;
}

LoopValue loop_const(PyObject* object) {
  LoopValue value;
  value.kind = LoopKind::Const;
  value.object = object;
  return value;
}

LoopValue loop_tuple(std::vector<LoopValue> items) {
  LoopValue value;
  value.kind = LoopKind::Tuple;
  value.items = std::move(items);
  return value;
}

LoopValue loop_view(DType dtype, int index, Expr pointer, std::vector<LoopValue> sizes,
                    std::vector<LoopValue> strides) {
  LoopValue view, address;
  address.kind = LoopKind::Pointer;
  address.dtype = view.dtype = dtype;
  address.index = view.index = index;
  address.expr = std::move(pointer);
  view.kind = LoopKind::View;
  view.dims = static_cast<int>(sizes.size());
  view.items = {std::move(address)};
  view.items.insert(view.items.end(), sizes.begin(), sizes.end());
  view.items.insert(view.items.end(), strides.begin(), strides.end());
  return view;
}

bool is_static_item(const LoopValue& value, size_t i) {
  if (value.kind == LoopKind::RangeIter) return i == 2 && value.items[i].known;
  if (value.kind == LoopKind::Counted) return i == 1;
  return value.kind == LoopKind::View && i > static_cast<size_t>(value.dims) && value.items[i].known == 1;
}

bool is_loop_dtype(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::Bool || is_integral(dtype);
}

std::string c_type(DType dtype) { return dtype == DType::Bool ? "bool" : std::string(short_name(dtype)); }

std::string element_type(DType dtype) { return dtype == DType::Bool ? "u8" : c_type(dtype); }

std::string c_type(const LoopValue& leaf) {
  switch (leaf.kind) {
    case LoopKind::Int: return "i64";
    case LoopKind::Float: return "f64";
    case LoopKind::Bool: return "bool";
    case LoopKind::ListAddress: return "ResizedList*";
    case LoopKind::Row:
    case LoopKind::Pointer: return element_type(leaf.dtype) + "*";
    default: return c_type(leaf.dtype);
  }
}

namespace {

// As it is in memory: keys are made at every entry of a loop.
template <class T>
void append_word(std::string& key, T word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

void append_key(const LoopValue& value, std::string& key) {
  key += static_cast<char>('a' + static_cast<int>(value.kind));
  switch (value.kind) {
    case LoopKind::Int:
      key += value.nonnegative ? '+' : ' ';
      if (value.pinned) key += '=', append_word(key, *value.known);
      break;
    case LoopKind::Numpy: key += static_cast<char>('A' + static_cast<int>(value.dtype)); break;
    case LoopKind::Const: append_word(key, value.object); break;
    case LoopKind::Object:
    case LoopKind::Resized:
      key += value.items.empty() ? ' ' : 'm';
      append_word(key, value.index);
      break;
    case LoopKind::Appended:
    case LoopKind::Vector:
    case LoopKind::Array: append_word(key, value.index); break;
    case LoopKind::Row: append_word(key, value.index), append_word(key, value.dims); break;
    case LoopKind::Pointer: key += static_cast<char>('A' + static_cast<int>(value.dtype)); break;
    case LoopKind::Complex:
    case LoopKind::NumpyComplex:
    case LoopKind::Either:
    case LoopKind::View:
    case LoopKind::Pending:
    case LoopKind::Slice:
    case LoopKind::List:
    case LoopKind::Method:
    case LoopKind::Tuple:
    case LoopKind::Cell:
    case LoopKind::Function:
    case LoopKind::Range:
    case LoopKind::RangeIter:
    case LoopKind::Elements:
    case LoopKind::Counted:
    case LoopKind::Enumerated:
    case LoopKind::Zipped:
    case LoopKind::Rest:
    case LoopKind::Closure:
    case LoopKind::Generator:
    case LoopKind::Dict:
    case LoopKind::ScalarArray:
      if (value.kind == LoopKind::Cell || value.kind == LoopKind::Function ||
          value.kind == LoopKind::Closure || value.kind == LoopKind::Generator)
        append_word(key, value.index), append_word(key, value.object);
      if (value.kind == LoopKind::View) append_word(key, value.index);
      if (value.kind == LoopKind::Pending || value.kind == LoopKind::Method) append_word(key, value.object);
      append_word(key, value.items.size());
      for (size_t i = 0; i < value.items.size(); ++i) {
        append_key(value.items[i], key);
        // The step decides which comparison ends a loop.
        if (is_static_item(value, i)) key += '=', append_word(key, *value.items[i].known);
      }
      key += ')';
      break;
    default: break;
  }
}

void for_each_leaf(LoopValue& value, const std::function<void(LoopValue&, const std::string&)>& visit,
                   const std::string& path) {
  if (value.pinned) return;
  if (value.is_leaf()) return visit(value, path);
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (is_static_item(value, i)) continue;
    for_each_leaf(value.items[i], visit, path + "_" + std::to_string(i));
  }
}

LoopValue generalized(LoopValue value) {
  if (value.pinned) return value;
  if (value.is_leaf()) {
    value.known.reset();
    value.known_float.reset();
    value.affine.reset();
    value.most.reset();
    value.remainder = Expr();
    value.is_counter = false;
    value.counts_of = -1;
    value.is_count = false;
  }
  value.origin.clear();
  for (size_t i = 0; i < value.items.size(); ++i)
    if (!is_static_item(value, i)) value.items[i] = generalized(std::move(value.items[i]));
  return value;
}

std::vector<LoopValue> parts_of_key(const LoopValue& key) {
  return key.kind == LoopKind::Tuple ? key.items : std::vector<LoopValue>{key};
}

int operator_of(int op) { return op >= NB_INPLACE_ADD ? op - NB_INPLACE_ADD : op; }

std::string float_literal(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "(-__builtin_nan(\"\"))" : "__builtin_nan(\"\")";
  if (std::isinf(value)) return value < 0 ? "(-__builtin_inf())" : "__builtin_inf()";
  if (value == std::floor(value) && std::fabs(value) < 1e15 && !(value == 0 && std::signbit(value)))
    return value < 0 ? fmt::format("({:.1f})", value) : fmt::format("{:.1f}", value);
  return value < 0 || std::signbit(value) ? fmt::format("({:a})", value) : fmt::format("{:a}", value);
}

void append_key(const std::vector<LoopFrame>& frames, std::string& key) {
  for (const LoopFrame& frame : frames) {
    key += '[';
    append_word(key, frame.code);
    append_word(key, frame.globals);
    append_word(key, frame.ip);
    append_word(key, frame.on_return);
    append_word(key, frame.role);
    for (const LoopValue& value : frame.locals) append_key(value, key);
    key += '|';
    for (const LoopValue& value : frame.stack) append_key(value, key);
    append_key(frame.extra, key);
    key += ']';
  }
}

void for_each_leaf(std::vector<LoopFrame>& frames, const std::function<void(LoopValue&)>& visit) {
  const auto one = [&](LoopValue& value) {
    for_each_leaf(value, [&](LoopValue& leaf, const std::string&) { visit(leaf); });
  };
  for (LoopFrame& frame : frames) {
    for (LoopValue& value : frame.locals) one(value);
    for (LoopValue& value : frame.stack) one(value);
    one(frame.extra);
  }
}

void drop_dead(std::vector<LoopFrame>& frames) {
  for (size_t f = 0; f < frames.size(); ++f) {
    LoopFrame& frame = frames[f];
    for (size_t i = 0; i < frame.locals.size(); ++i) {
      const int slot = static_cast<int>(i);
      if (slot >= frame.code->num_locals) break;             // attributes outlive the loop
      if (frame.locals[i].kind == LoopKind::Cell) continue;  // others may hold it
      // An outer frame resumes behind its call, whose handler it still needs.
      const bool live = frame.code->is_live(frame.ip, slot) ||
                        (f + 1 < frames.size() && frame.ip > 0 && frame.code->is_live(frame.ip - 1, slot));
      if (!live) frame.locals[i] = LoopValue();
    }
  }
}

}  // namespace weft::capture
