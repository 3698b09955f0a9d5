// Element by element in native loops: the statements that compute one element, and the arrays they read.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/loops/builder.h"

namespace weft::capture {

// Statements that compute one element.
class ElementPrinter {
 public:
  // `function`: what to call it in the code.
  ElementPrinter(std::set<scalar::Prim>& elementary, std::function<Expr(const LibraryFunction&)> function)
      : elementary_(elementary), function_(std::move(function)) {}
  std::string text;

  std::string variable(const std::string& type, const std::string& expr) {
    const std::string name = fmt::format("e{}", count_++);
    text += fmt::format("const {} {} = {}; ", type, name, expr);
    return name;
  }
  std::string print(const scalar::Expr& expr, const std::vector<std::string>& operands);

 private:
  std::set<scalar::Prim>& elementary_;
  std::function<Expr(const LibraryFunction&)> function_;
  int count_ = 0;
};

// One operand of the loops: a view with its strides, 0 where it is repeated, and by dimension that it is
// turned along (numpy.roll) which element is the first.
struct Stream {
  LoopValue view;
  std::vector<std::string> strides;
  std::string name;
  std::vector<std::string> turns;  // empty where the dimension is as it is
  std::string turn(size_t d, size_t dims) const {
    const size_t own = static_cast<size_t>(view.dims), k = d + own - dims;
    return d + own < dims ? "" : turns[k];
  }
};

class Streams {
 public:
  std::vector<Stream> all;
  std::vector<std::pair<std::string, LoopValue>> numbers;
  std::string number(const LoopValue& value) {
    for (const auto& [name, other] : numbers)
      if (other.kind == value.kind && other.expr == value.expr && other.dtype == value.dtype) return name;
    numbers.emplace_back(fmt::format("c{}", numbers.size()), value);
    return numbers.back().first;
  }
  std::string load(const LoopValue& view, std::vector<std::string> turns) {
    for (const Stream& stream : all) {
      if (stream.view.dims != view.dims || stream.turns != turns) continue;
      bool same = true;
      for (size_t i = 0; i < view.items.size(); ++i)
        same = same && stream.view.items[i].expr == view.items[i].expr;
      if (same) return stream.name;
    }
    all.push_back({view, {}, fmt::format("x{}", all.size()), std::move(turns)});
    return all.back().name;
  }
  std::string load(const LoopValue& view) {
    return load(view, std::vector<std::string>(static_cast<size_t>(view.dims)));
  }
};

// What the value's element is called, in code that `printer` collects.
std::string print_value(const LoopValue& value, ElementPrinter& printer, Streams& streams);

}  // namespace weft::capture
