// Loops over elements in native loops: what NumPy's statement stores, or folds into what is there.
#include <fmt/format.h>

#include <optional>

#include "capture/loops/element_printer.h"

namespace weft::capture {

namespace {

// abs(z) < limit and the like, for complex z.
struct MagnitudeTest {
  LoopValue z, limit;
  bool holds_below;
};

std::optional<MagnitudeTest> magnitude_test(const LoopValue& value) {
  const std::string& name = value.operation;
  const bool is_less = name == "lt" || name == "le";
  if (!is_less && name != "gt" && name != "ge") return {};
  const size_t at = value.items[0].kind == LoopKind::Pending ? 0 : 1;
  const LoopValue &magnitude = value.items[at], &limit = value.items[1 - at];
  if (magnitude.operation != "abs" || magnitude.compute != DType::C128 || !limit.is_number()) return {};
  return MagnitudeTest{magnitude.items[0], limit, is_less == (at == 0)};
}

// `value` folded into `total`, or stored in its place.
std::string folded(const std::string& fold, const std::string& type, const std::string& total,
                   const std::string& value) {
  if (fold.empty()) return value;
  if (fold == "any" || fold == "all")
    return fmt::format("({}){} {} ({} != 0)", type, total, fold == "any" ? "|" : "&", value);
  if (fold == "sum") return fmt::format("({0}){1} + ({0}){2}", type, total, value);
  return fmt::format("{}({}, ({}){})", fold == "max" ? "maximum" : "minimum", total, type, value);
}

}  // namespace

// The loops of one statement. They are printed as a function of their own, for threads, over copies that no
// store can change.
class ElementLoops {
 public:
  ElementLoops(LoopBuilder& builder, const LoopValue& value, DType dtype, const LoopBuilder::Target& target)
      : builder_(builder),
        value_(value),
        dtype_(dtype),
        target_(target),
        is_masked_(target.mask.kind == LoopKind::View),
        dims_(target.sizes.size()),
        last_(dims_ - 1),
        printer_(builder.elementary_, builder.function_names()) {}
  void emit();

 private:
  void print_element();
  void find_strides();
  void go_by_columns();
  void emit_copies();
  void emit_outer_loops();
  void begin_pieces();
  void print_loads();
  void emit_rows();
  void emit_row(const std::string& loads, const std::string& element);
  std::string copied(const std::string& name, const std::string& type, const std::string& expr);
  std::string folded_into(const std::string& total) const {
    return folded(target_.fold, target_.type, total, result_);
  }
  void line(const std::string& text) { builder_.emit(text); }
  void require_unit(const std::string& stride) {
    condition_ += fmt::format("{}{} == 1", condition_.empty() ? "" : " && ", stride);
  }
  // Where rings end along the last dimension, a piece of it begins.
  bool is_split(size_t k) const {
    return !streams_.all[k].turn(last_, dims_).empty() && streams_.all[k].strides[last_] != "0L";
  }
  // Does the last dimension fold into one element?
  bool has_total() const { return !target_.fold.empty() && out_strides_[last_] == "0L"; }
  // Lanes with a mask would gather and scatter the parts of complex elements.
  bool in_words() const {
    return is_masked_ && dtype_ == DType::C128 && streams_.all[0].strides[last_] != "0L";
  }

  LoopBuilder& builder_;
  const LoopValue& value_;
  const DType dtype_;
  LoopBuilder::Target target_;
  const bool is_masked_;
  const size_t dims_, last_;

  // One element: what is called `result_` after the printer's statements. Squares tell which magnitudes are
  // below a limit, but for those near it: blocks with such are computed again. `side_` computes which side of
  // the limit an element is on, `holds_` is the result then.
  ElementPrinter printer_;
  Streams streams_;
  std::string mask_, result_, side_, holds_;

  // Names in the code.
  std::vector<std::string> pointers_, sizes_, out_strides_;
  std::string out_, first_ = "begin", past_ = "end";
  bool has_pieces_ = false;
  // Loads of the innermost loop, where all strides of it are 1 (if `condition_`), and for any.
  std::string unit_, strided_, condition_;
};

void ElementLoops::emit() {
  print_element();
  line("{");
  find_strides();
  go_by_columns();
  std::string row_size = "1L";
  for (size_t d = 1; d < dims_; ++d) row_size += " * " + target_.sizes[d];
  line(fmt::format("const i64 row_size = {};", row_size));
  line("const auto elements = [=](i64 begin, i64 end) __attribute__((noinline)) {");
  emit_copies();
  emit_outer_loops();
  begin_pieces();
  print_loads();
  emit_rows();
  for (size_t d = has_pieces_ ? 0 : 1; d < dims_; ++d) line("}");
  line("};");
  if (!target_.fold.empty() && target_.strides[0] == "0L")
    line(fmt::format("elements(0, {});", target_.sizes[0]));
  else
    line(fmt::format("run_elements({}, {}, row_size, elements);", builder_.function("parallel_for"),
                     target_.sizes[0]));
  line("}");
}

void ElementLoops::print_element() {
  mask_ = is_masked_ ? streams_.load(target_.mask) : "";
  result_ = print_value(value_, printer_, streams_);
  if (dtype_ == DType::Bool) result_ = fmt::format("({} != 0)", result_);
  const auto test = magnitude_test(value_);
  if (!test || is_masked_ || !target_.fold.empty()) return;
  ElementPrinter squares(builder_.elementary_, builder_.function_names());
  const std::string z = print_value(test->z, squares, streams_), limit = streams_.number(test->limit);
  side_ =
      fmt::format("{}const i64 side = side_of({}, Limit({})); near |= side == 0;", squares.text, z, limit);
  holds_ = test->holds_below ? "side < 0" : "side > 0";
}

void ElementLoops::find_strides() {
  for (Stream& stream : streams_.all) {
    const auto own = static_cast<size_t>(stream.view.dims);
    for (size_t d = 0; d < dims_; ++d) {
      const int k = static_cast<int>(d + own - dims_);
      std::string stride = k < 0 || stream.view.size(k).known == 1 ? "0L" : stream.view.stride(k).expr;
      if (stride != "0L" &&
          builder_.size_name(stream.view.size(k).expr) != builder_.size_name(target_.sizes[d]))
        stride = builder_.temporary("i64", fmt::format("{} == 1 ? 0 : {}", stream.view.size(k).expr, stride));
      stream.strides.push_back(stride);
    }
  }
}

// An array in Fortran order is gone through by columns.
void ElementLoops::go_by_columns() {
  if (dims_ != 2 || target_.strides[0] != "1L" || target_.strides[1] == "1L" || !target_.fold.empty() ||
      LoopBuilder::has_roll(value_))
    return;
  std::swap(target_.sizes[0], target_.sizes[1]);
  std::swap(target_.strides[0], target_.strides[1]);
  for (Stream& stream : streams_.all) std::swap(stream.strides[0], stream.strides[1]);
}

std::string ElementLoops::copied(const std::string& name, const std::string& type, const std::string& expr) {
  const bool is_literal = loopir::Expr(expr).begins_with_number();
  if (!is_literal) line(fmt::format("{} const {} = {};", type, name, expr));
  return is_literal ? expr : name;
}

void ElementLoops::emit_copies() {
  for (const auto& [name, number] : streams_.numbers)
    line(fmt::format("const {} {} = {};", c_type(number), name, number.expr));
  for (size_t d = 0; d < dims_; ++d) {
    sizes_.push_back(d == 0 ? "" : copied(fmt::format("n{}", d), "i64", target_.sizes[d]));
    out_strides_.push_back(copied(fmt::format("outs{}", d), "i64", target_.strides[d]));
  }
  for (size_t k = 0; k < streams_.all.size(); ++k) {
    Stream& stream = streams_.all[k];
    const std::string type = fmt::format("const {}*", element_type(stream.view.dtype));
    pointers_.push_back(copied(fmt::format("p{}", k), type, stream.view.items[0].expr));
    for (size_t d = 0; d < dims_; ++d) {
      stream.strides[d] = copied(fmt::format("s{}_{}", k, d), "i64", stream.strides[d]);
      if (stream.turn(d, dims_).empty()) continue;
      line(fmt::format(
          "const i64 turn{0}_{1} = {2}, ring{0}_{1} = {3};", k, d, stream.turn(d, dims_),
          stream.view.size(static_cast<int>(d + static_cast<size_t>(stream.view.dims) - dims_)).expr));
    }
  }
  out_ = copied("out", target_.type + "*", target_.pointer);
}

void ElementLoops::emit_outer_loops() {
  for (size_t d = 0; d < last_; ++d) {
    line(fmt::format("for (i64 i{0} = {1}; i{0} < {2}; ++i{0}) {{", d, first_, past_));
    for (size_t k = 0; k < streams_.all.size(); ++k) {
      const Stream& stream = streams_.all[k];
      if (stream.strides[d] == "0L") continue;
      const std::string row = fmt::format("p{}_{}", k, d);
      const bool is_turned = !stream.turn(d, dims_).empty();
      const std::string at =
          is_turned ? fmt::format("on_ring(i{1} + turn{0}_{1}, ring{0}_{1})", k, d) : fmt::format("i{}", d);
      line(fmt::format("const {}* const {} = {} + {} * {};", element_type(stream.view.dtype), row,
                       pointers_[k], at, stream.strides[d]));
      pointers_[k] = row;
    }
    line(fmt::format("{}* const out{} = {} + i{} * {};", target_.type, d, out_, d, out_strides_[d]));
    out_ = fmt::format("out{}", d);
    first_ = "0";
    past_ = sizes_[d + 1];
  }
}

void ElementLoops::begin_pieces() {
  std::string pieces;
  for (size_t k = 0; k < streams_.all.size(); ++k)
    if (is_split(k))
      pieces +=
          fmt::format("const i64 at{0} = turn_of_piece(turn{0}_{1}, ring{0}_{1}, piece, stop); ", k, last_);
  has_pieces_ = !pieces.empty();
  if (!has_pieces_) return;
  line(fmt::format("for (i64 piece = {}, stop; piece < {}; piece = stop) {{ stop = {}; {}", first_, past_,
                   past_, pieces));
  first_ = "piece", past_ = "stop";
}

void ElementLoops::print_loads() {
  for (size_t k = 0; k < streams_.all.size(); ++k) {
    const Stream& stream = streams_.all[k];
    const std::string &stride = stream.strides[last_], type = c_type(stream.view.dtype);
    const char* truth = stream.view.dtype == DType::Bool ? " != 0" : "";
    const std::string skipped = is_masked_ && k == 0 ? fmt::format("if (!{}) continue; ", mask_) : "";
    if (stride == "0L") {
      line(fmt::format("const {} {} = {} < {} ? {}[0]{} : ({})0;", type, stream.name, first_, past_,
                       pointers_[k], truth, type));
      unit_ += skipped;
      strided_ += skipped;
      continue;
    }
    if (stride != "1L") require_unit(stride);
    const std::string at = is_split(k) ? fmt::format("(i + at{})", k) : "i";
    if (!in_words() || k > 0)
      unit_ += fmt::format("const {} {} = {}[{}]{}; {}", type, stream.name, pointers_[k], at, truth, skipped);
    strided_ += fmt::format("const {} {} = {}[{} * {}]{}; {}", type, stream.name, pointers_[k], at, stride,
                            truth, skipped);
  }
  if (out_strides_[last_] != "1L" && !has_total()) require_unit(out_strides_[last_]);
}

void ElementLoops::emit_rows() {
  if (!condition_.empty()) line(fmt::format("if ({}) {{", condition_));
  emit_row(unit_, "i");
  if (condition_.empty()) return;
  line("} else {");
  emit_row(strided_, fmt::format("i * {}", out_strides_[last_]));
  line("}");
}

// The innermost loop; `element`: of the target.
void ElementLoops::emit_row(const std::string& loads, const std::string& element) {
  const std::string text = loads + printer_.text;
  if (has_total() && target_.fold == "sum")
    return line(
        fmt::format("{0}[0] = ({1})({0}[0] + sum_of_elements<{1}>({2}, [&](i64 i) {{ {3}return {4}; }}));",
                    out_, target_.type, past_, text, result_));
  const std::string loop = fmt::format("for (i64 i = {}; i < {}; ++i) {{ {}", first_, past_, text);
  if (has_total())
    return line(fmt::format("{} total = {}[0]; {}total = {}; }} {}[0] = total;", target_.type, out_, loop,
                            folded_into("total"), out_));
  const std::string to = fmt::format("{}[{}]", out_, element);
  if (in_words() && element == "i")
    return line(fmt::format("for_chosen({}, {}, {}, [&](i64 i) WEFT_INLINE_LAMBDA {{ {}{} = {}; }});", first_,
                            past_, pointers_[0], text, to, result_));
  const char* independent = element == "i" ? "WEFT_INDEPENDENT" : "";
  if (side_.empty()) {
    line(independent);
    return line(fmt::format("{}{} = {}; }}", loop, to, folded_into(to)));
  }
  line(fmt::format("in_blocks({}, {}, [&](i64 low, i64 high) {{ bool near = false;", first_, past_));
  line(independent);
  line(fmt::format("for (i64 i = low; i < high; ++i) {{ {}{} {} = {}; }}", loads, side_, to, holds_));
  line("return near; }, [&](i64 low, i64 high) {");
  line(fmt::format("for (i64 i = low; i < high; ++i) {{ {}{} = {}; }} }});", text, to, result_));
}

void LoopBuilder::emit_elements(const LoopValue& given, DType dtype, const Target& wanted) {
  if (!wanted.fold.empty() && has_roll(given)) return emit_elements(materialized(given), dtype, wanted);
  block_has_arrays_ = block_stores_arrays_ = true;
  const bool is_masked = wanted.mask.kind == LoopKind::View;
  const LoopValue value = is_masked ? given : with_chosen_taken(given);
  ElementLoops(*this, value, dtype, wanted).emit();
}

}  // namespace weft::capture
