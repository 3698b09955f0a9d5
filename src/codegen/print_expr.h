// Expressions of generated code: values, addresses and sizes as text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nest/loop_nest.h"
#include "nest/vocabulary.h"

namespace weft::codegen {

using namespace nest;

struct PrintedKernel;

std::string type_name(DType dtype);  // "f64", "bool"
// Type a value of the dtype has in registers: f32 for f16 and bf16.
std::string register_type(DType dtype);
// An expression as an operand: in parentheses unless it is a name, a number or a call.
std::string wrap(const std::string& text);
class ExpressionPrinter {
 public:
  ExpressionPrinter(const LoopNest& nest, PrintedKernel& kernel);

  // True for values printed where they are used.
  bool is_inline(NodeId id) const;
  // The variable that holds a value that is not inline.
  std::string name(NodeId id);
  // The text that computes a value.
  std::string compute(NodeId id);
  // A variable, literal, or inline expression (parenthesized where needed).
  std::string reference(NodeId id);
  // The same as a vector of the current lanes, of the dtype's register type.
  std::string vector_reference(NodeId id, DType dtype);
  std::string index(const Index& index);
  std::string pointer(int buffer, const Index& index);
  // Vector of what `index` is on each lane of `scope`.
  std::string lane_positions(const Index& index, ScopeId scope, bool own_lanes);
  std::string sym(Sym s);
  std::string group_name(int group);
  std::string accumulator_name(ScopeId scope, size_t k);
  // Elements that have been read already: the text of each in place of its load.
  void set_loaded(std::map<NodeId, std::string> texts) { loaded_ = std::move(texts); }

  const std::set<int>& symbols() const { return symbols_; }
  // The functions called that the kernel must define.
  const std::set<scalar::Prim>& elementary() const { return elementary_; }
  std::string function_declarations() const;

 private:
  const LoopNest& nest_;
  PrintedKernel& kernel_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  mutable std::vector<int> inline_depths_;  // -1: not known yet
  std::set<std::string> taken_;
  std::map<int, std::string> group_names_;
  std::map<std::pair<ScopeId, size_t>, std::string> accumulator_names_;
  std::set<int> symbols_;
  std::set<scalar::Prim> elementary_;
  std::set<std::string> functions_;  // variables that are declared
  std::vector<std::string> declarations_;
  std::map<NodeId, std::string> loaded_;

  // How deep the text of a value is that is printed where it is used; 0 where a variable holds it.
  int inline_depth(NodeId id) const;
  std::string unique(const std::string& base);
  std::string load(NodeId id);
  std::string apply(const KernelNode& node);
  std::string cast(const KernelNode& node);
  // A value that is one of the dtype's, so that rounding to it changes nothing.
  bool holds(NodeId id, DType dtype) const;
  const char* function_with_number(const KernelNode& node) const;
  std::string math_call(const KernelNode& node, const std::vector<std::string>& args);
  std::string literal(const KernelNode& node);
  std::string typed_literal(const KernelNode& node, DType dtype);
  std::string load_name(const KernelNode& node) const;
  std::string operand(const KernelNode& user, NodeId arg, bool must_be_vector);
  int lanes_at(ScopeId scope) const;
};

}  // namespace weft::codegen
