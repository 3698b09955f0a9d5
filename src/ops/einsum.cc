// Einstein summation: parsed here, computed by permute, reshape, mul, sum and matmul.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ops/arguments.h"
#include "ops/build.h"

namespace weft::ops {
namespace {

// Labels are letters; the dimensions of an ellipsis get the labels kEllipsis, kEllipsis + 1, … from the
// right.
constexpr int kEllipsis = 256;
using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

[[noreturn]] void fail(const std::string& equation, const std::string& why) {
  throw_error(ErrorKind::Value, fmt::format("einsum: {}: in '{}'", why, equation));
}

// `rank` dimensions; negative for the output, whose ellipsis stands for `ellipsis` dimensions.
Labels parse_labels(const std::string& equation, const std::string& text, int64_t rank, int64_t ellipsis) {
  const size_t dots = text.find("...");
  const int64_t letters = static_cast<int64_t>(text.size()) - (dots == std::string::npos ? 0 : 3);
  const int64_t expanded = rank < 0 ? ellipsis : rank - letters;
  if (dots == std::string::npos && rank >= 0 && letters != rank)
    fail(equation, fmt::format("'{}' names {} dimensions of an operand that has {}", text, letters, rank));
  if (expanded < 0)
    fail(equation, fmt::format("'{}' names more dimensions than its operand has ({})", text, rank));
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int64_t e = expanded; e-- > 0;) labels.push_back(kEllipsis + static_cast<int>(e));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      fail(equation, fmt::format("unexpected character '{}'", text[i]));
    }
  }
  return labels;
}

Equation parse(const std::string& given, const std::vector<Tensor>& tensors) {
  std::string text;
  std::copy_if(given.begin(), given.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  std::string inputs = text.substr(0, arrow);
  std::vector<std::string> terms;
  for (size_t start = 0;;) {
    const size_t comma = inputs.find(',', start);
    terms.push_back(inputs.substr(start, comma == std::string::npos ? comma : comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  if (terms.size() != tensors.size())
    fail(given, fmt::format("{} operands are named, {} were given", terms.size(), tensors.size()));
  Equation equation;
  int64_t ellipsis = 0;
  std::map<int, int> count;
  for (size_t i = 0; i < terms.size(); ++i) {
    equation.operands.push_back(parse_labels(given, terms[i], tensors[i].dim(), 0));
    for (int label : equation.operands.back()) {
      ++count[label];
      if (label >= kEllipsis) ellipsis = std::max<int64_t>(ellipsis, label - kEllipsis + 1);
    }
  }
  if (arrow != std::string::npos) {
    equation.output = parse_labels(given, text.substr(arrow + 2), -1, ellipsis);
    for (int label : equation.output) {
      if (!count.contains(label))
        fail(given, fmt::format("output '{}' is in no operand", static_cast<char>(label)));
      if (std::count(equation.output.begin(), equation.output.end(), label) > 1)
        fail(given, fmt::format("output '{}' is named twice", static_cast<char>(label)));
    }
  } else {
    // Implicit: the ellipsis, then the letters that occur once, in alphabetical order.
    for (int64_t e = ellipsis; e-- > 0;) equation.output.push_back(kEllipsis + static_cast<int>(e));
    for (const auto& [label, times] : count) {
      if (label < kEllipsis && times == 1) equation.output.push_back(label);
    }
  }
  return equation;
}

struct Term {
  Tensor tensor;
  Labels labels;

  int64_t find(int label) const {
    const auto it = std::find(labels.begin(), labels.end(), label);
    return it == labels.end() ? -1 : it - labels.begin();
  }
  Sym size(int label) const { return sym_shape(tensor)[static_cast<size_t>(find(label))]; }

  // Repeated labels become one: the diagonal.
  void take_diagonals() {
    for (size_t i = 0; i < labels.size(); ++i) {
      for (size_t j = i + 1; j < labels.size();) {
        if (labels[j] != labels[i]) {
          ++j;
          continue;
        }
        const int label = labels[i];
        WEFT_CHECK(sym_eq(sym_shape(tensor)[i], sym_shape(tensor)[j]),
                   fmt::format("einsum: '{}' names dimensions of different sizes: {}",
                               static_cast<char>(label), type_of(tensor).str()));
        tensor = call1("diagonal", {tensor},
                       {{"offset", Sym(0)},
                        {"dim1", Sym(static_cast<int64_t>(i))},
                        {"dim2", Sym(static_cast<int64_t>(j))}});
        labels.erase(labels.begin() + static_cast<long>(j));
        labels.erase(labels.begin() + static_cast<long>(i));
        labels.push_back(label);
        i = static_cast<size_t>(-1);  // the dimensions have moved: look again from the start
        break;
      }
    }
  }

  void sum_out(const Labels& kept) {
    std::vector<int64_t> dims;
    Labels rest;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (std::find(kept.begin(), kept.end(), labels[i]) == kept.end())
        dims.push_back(static_cast<int64_t>(i));
      else
        rest.push_back(labels[i]);
    }
    tensor = build::sum(tensor, dims);
    labels = rest;
  }

  // Dimensions in the given order, grouped into one dimension per group.
  Tensor grouped(const std::vector<Labels>& groups) const {
    std::vector<int64_t> order;
    SymShape shape;
    for (const Labels& group : groups) {
      Sym size = 1;
      for (int label : group) {
        order.push_back(find(label));
        size = size * this->size(label);
      }
      shape.push_back(size);
    }
    return build::reshape(build::permute(tensor, order), shape);
  }
};

Labels intersection(const Labels& a, const Labels& b) {
  Labels result;
  for (int label : a) {
    if (std::find(b.begin(), b.end(), label) != b.end()) result.push_back(label);
  }
  return result;
}
Labels difference(const Labels& a, const Labels& b) {
  Labels result;
  for (int label : a) {
    if (std::find(b.begin(), b.end(), label) == b.end()) result.push_back(label);
  }
  return result;
}

// One matmul per pair of operands: labels that are kept and shared are the batch, shared ones that nothing
// needs later are contracted.
Term contract(Term a, Term b, const Labels& kept) {
  const auto needed_by = [&kept](const Labels& other) {
    Labels all = kept;
    all.insert(all.end(), other.begin(), other.end());
    return all;
  };
  a.sum_out(needed_by(b.labels));
  b.sum_out(needed_by(a.labels));
  for (int label : intersection(a.labels, b.labels)) {
    // A size of 1 broadcasts.
    const Sym x = a.size(label), y = b.size(label);
    if (sym_eq(x, y)) continue;
    Term& small = sym_eq(x, Sym(1)) ? a : b;
    const Term& large = &small == &a ? b : a;
    WEFT_CHECK(sym_eq(small.size(label), Sym(1)),
               fmt::format("einsum: a label has the sizes {} and {} in two operands", x.str(), y.str()));
    SymShape shape = sym_shape(small.tensor);
    shape[static_cast<size_t>(small.find(label))] = large.size(label);
    small.tensor = build::expand(small.tensor, shape);
  }
  const Labels shared = intersection(a.labels, b.labels);
  const Labels batch = intersection(shared, kept), inner = difference(shared, kept);
  const Labels left = difference(a.labels, shared), right = difference(b.labels, shared);
  Term result;
  // Where both have all labels, compiled code multiplies elements and adds them up in one pass. Products of
  // halves would be rounded, and a sum of bool is none.
  const DType dtype = a.tensor.dtype();
  const bool is_other_product = dtype == DType::Bool || (is_floating(dtype) && itemsize(dtype) < 4);
  if (left.empty() && right.empty() && a.tensor.is_traced() && !is_other_product) {
    std::vector<int64_t> order;
    for (int label : a.labels) order.push_back(b.find(label));
    result.labels = a.labels;
    result.tensor = build::mul(a.tensor, build::permute(b.tensor, order));
    result.sum_out(batch);
    return result;
  }
  for (const Labels* group : {&batch, &left, &right})
    result.labels.insert(result.labels.end(), group->begin(), group->end());
  SymShape shape;
  for (int label : result.labels) shape.push_back(a.find(label) >= 0 ? a.size(label) : b.size(label));
  const Tensor x = a.grouped({batch, left, inner}), y = b.grouped({batch, inner, right});
  // Nothing to contract is a product of elements, which fuses.
  const Tensor product = inner.empty() ? build::mul(x, y) : call1("matmul", {x, y});
  result.tensor = build::reshape(product, shape);
  return result;
}

std::vector<Tensor> einsum(const OpDef&, const OpArgs& args) {
  const std::string& text = args.attrs.get<std::string>("equation");
  WEFT_CHECK(!args.tensors.empty(), "einsum: expected at least one operand");
  const Equation equation = parse(text, args.tensors);
  const std::vector<Tensor> tensors = build::promote(args.tensors, Promotion::NumPy);
  std::vector<Term> terms;
  for (size_t i = 0; i < tensors.size(); ++i) {
    terms.push_back({tensors[i], equation.operands[i]});
    terms.back().take_diagonals();
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels kept = equation.output;
    for (size_t later = i + 1; later < terms.size(); ++later)
      kept.insert(kept.end(), terms[later].labels.begin(), terms[later].labels.end());
    result = contract(std::move(result), terms[i], kept);
  }
  result.sum_out(equation.output);
  std::vector<int64_t> order;
  for (int label : equation.output) order.push_back(result.find(label));
  return {build::permute(result.tensor, order)};
}

[[maybe_unused]] const OpDef* const kEinsumOps[] = {
    &define_composite("einsum", "(str equation, Tensor[] operands) -> Tensor",
                      "Sum of products by Einstein's convention: \"bij,bjk->bik\"; repeated labels in one "
                      "operand take the\n"
                      "diagonal, an ellipsis stands for further dimensions, which broadcast. Operands are "
                      "contracted from left\n"
                      "to right. raises: ValueError for an equation that does not fit the operands.",
                      "numpy.einsum(equation, *operands)", einsum),
};

}  // namespace
}  // namespace weft::ops
