#include <fmt/format.h>

#include <algorithm>

#include "exported/program.h"
#include "exported/tree.h"
#include "ir/graph.h"

namespace weft::exported {
namespace {

std::string size_place(const Input& input, size_t dim) { return fmt::format("{}.shape[{}]", input.place, dim); }

[[noreturn]] void refuse_size(const Input& input, size_t dim, const std::string& expected, int64_t got) {
  throw_error(ErrorKind::Value, fmt::format("Expected input at {} to be {}, but got {}", size_place(input, dim), expected, got));
}

// A constant of the program, and what stands in its place now.
bool is_same(const IValue& constant, const IValue& value) {
  if (constant.is_none() || value.is_none()) return constant.is_none() && value.is_none();
  if (constant.is_bool() != value.is_bool()) return false;
  if (constant.is_number() && value.is_number()) return constant.to_complex() == value.to_complex();
  if (constant.is_string() && value.is_string()) return constant.to_string() == value.to_string();
  return constant.tag() == value.tag() && !value.is_tensor() && constant.repr() == value.repr();
}

}  // namespace

void Sizes::check(std::span<const IValue> leaves) const {
  SymbolValues symbols;
  const auto each_size = [&](const auto& handle) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_tensor) continue;
      const Shape& shape = leaves[i].to_tensor().shape();
      for (size_t dim = 0; dim < sizes[i].size(); ++dim) handle(inputs[i], dim, sizes[i][dim], shape[dim]);
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    if (!input.is_tensor) continue;
    const int64_t rank = leaves[i].to_tensor().dim(), expected = static_cast<int64_t>(sizes[i].size());
    if (rank != expected)
      throw_error(ErrorKind::Value, fmt::format("Expected input at {} to have {} dimensions, but got {}", input.place,
                                                expected, rank));
  }
  each_size([&](const Input& input, size_t dim, const SizeExpr& size, int64_t got) {
    if (const auto constant = size.constant(); constant && *constant != got)
      refuse_size(input, dim, fmt::format("equal to {}", *constant), got);
    if (const auto symbol = size.symbol()) symbols.emplace(*symbol, got);
  });
  // Sizes that are computed of symbols: what no other size tells follows from them.
  each_size([&](const Input& input, size_t dim, const SizeExpr& size, int64_t got) {
    if (const auto solved = size.solve(symbols, got)) symbols.insert(*solved);
    const auto expected = size.evaluate(symbols);
    if (!expected || *expected != got)
      refuse_size(input, dim, expected ? fmt::format("equal to {} = {}", size.str(), *expected) : "of the form " + size.str(), got);
  });
  each_size([&](const Input& input, size_t dim, const SizeExpr& size, int64_t) {
    const auto symbol = size.symbol();
    for (const SizeRange& range : ranges) {
      const auto found = symbols.find(range.symbol);
      if (found == symbols.end() || (symbol && *symbol != range.symbol)) continue;
      const std::string what = symbol ? "" : fmt::format(" ({} of {})", range.symbol, size.str());
      // As PyTorch: a least size of 2 is what its tracing assumes, and sizes 0 and 1 run.
      if (range.min > 2 && found->second < range.min)
        refuse_size(input, dim, fmt::format(">= {}{}", range.min, what), found->second);
      if (range.max && found->second > *range.max)
        refuse_size(input, dim, fmt::format("<= {}{}", *range.max, what), found->second);
    }
  });
  for (const Guard& guard : guards) guard.check(leaves, inputs);
}

std::vector<IValue> Program::run_leaves(std::vector<IValue> leaves) const {
  const Impl& program = *impl_;
  if (leaves.size() != program.inputs.size())
    throw_error(ErrorKind::Type, fmt::format("the program takes {} arguments' leaves, got {}", program.inputs.size(), leaves.size()));
  std::vector<IValue> arguments;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Input& input = program.inputs[i];
    if (!input.is_constant)
      arguments.push_back(std::move(leaves[i]));
    else if (!is_same(input.constant, leaves[i]))
      throw_error(ErrorKind::Value, fmt::format("Expected input at {} to be equal to {}, but got {}", input.place,
                                                input.constant.repr(), leaves[i].repr()));
  }
  IValue result = program.module.forward(std::move(arguments));
  const size_t count = program.results.num_leaves();
  if (count == 1) return {std::move(result)};
  if (count == 0) return {};
  return result.elements();
}

IValue Program::operator()(const std::vector<IValue>& arguments, const jit::Keywords& keywords) const {
  const Impl& program = *impl_;
  const Tree& positional = program.arguments.children.at(0);
  const Tree& named = program.arguments.children.at(1);
  if (arguments.size() != positional.children.size())
    throw_error(ErrorKind::Type, fmt::format("the program takes {} positional arguments, got {}",
                                             positional.children.size(), arguments.size()));
  for (const auto& [name, value] : keywords)
    if (std::find(named.keys.begin(), named.keys.end(), name) == named.keys.end())
      throw_error(ErrorKind::Type, fmt::format("the program has no keyword argument '{}'", name));
  std::vector<IValue> leaves;
  for (size_t i = 0; i < arguments.size(); ++i)
    flatten(positional.children[i], arguments[i], fmt::format("*args[{}]", i), leaves);
  for (size_t i = 0; i < named.keys.size(); ++i) {
    const auto found = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == named.keys[i]; });
    if (found == keywords.end())
      throw_error(ErrorKind::Type, fmt::format("the program's keyword argument '{}' is missing", named.keys[i]));
    flatten(named.children[i], found->second, fmt::format("**kwargs['{}']", named.keys[i]), leaves);
  }
  const std::vector<IValue> results = run_leaves(std::move(leaves));
  size_t next = 0;
  return unflatten(program.results, results, next);
}

const jit::Module& Program::module() const { return impl_->module; }
const std::vector<Input>& Program::inputs() const { return impl_->inputs; }
const Tree& Program::arguments() const { return impl_->arguments; }
const Tree& Program::results() const { return impl_->results; }
const std::vector<SizeRange>& Program::ranges() const { return impl_->ranges; }
std::string Program::text() const { return impl_->text(); }
const Tensors& Program::weights() const { return impl_->weights; }
const Tensors& Program::constants() const { return impl_->constants; }

Program Program::optimize_for_inference(std::optional<DType> dtype, const std::string& mode) const {
  auto impl = std::make_shared<Impl>(*impl_);
  impl->module = jit::optimize_for_inference(impl_->module, {}, dtype, mode);
  return Program(std::move(impl));
}

}  // namespace weft::exported
