// The nodes of one exported graph, and of the graphs inside them, as nodes of TorchScript.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exported/json_access.h"
#include "script/emit/emitter.h"
#include "weft/exported.h"

namespace weft::exported {

using Values = std::vector<ir::Value*>;
inline constexpr size_t kMaxGraphs = 64;  // inside each other
inline constexpr std::string_view kVmapBegins = "torch._functorch.predispatch._vmap_increment_nesting";
inline constexpr std::string_view kVmapEnds = "torch._functorch.predispatch._vmap_decrement_nesting";

class GraphLowering {
 public:
  GraphLowering(ir::Graph& graph, jit::CompilationUnit& unit, const Json& source);

  // --- values
  void bind(const std::string& name, ir::Value* value);
  ir::Value* find(const std::string& name) const;
  const Json& tensor_meta(const std::string& name) const;
  ir::Value* read_attribute(ir::Value* self, const std::string& path);
  // Of an argument of the schema: {"as_tensor": {"name": "x"}}.
  ir::Value* value_of(const Json& argument, const std::string& where);
  IValue constant_value(const Json& argument);
  ir::Value* constant(IValue value) { return emitter_.constant(std::move(value), range_); }
  ir::Value* truth_of(ir::Value* value);
  // A builtin by name; its only result, null where it has none.
  ir::Value* call(const std::string& name, const Values& inputs);

  // --- the graph
  void run();
  void finish(const Values& outputs);
  // NotImplementedError naming each operator that has no builtin, or not with these arguments.
  void refuse_missing() const;

 private:
  struct Graph {
    const Json* source;
    std::map<std::string, ir::Value*> values;
  };
  // A node's arguments: named as in the operator's schema, or without a name.
  struct Argument {
    std::string name;
    const Json* value;
  };

  void lower_nodes();
  void lower_range(const Json& nodes, size_t begin, size_t end);
  void lower_node(const Json& node);
  void lower_target(const std::string& target, const std::vector<Argument>& arguments, const Json& outputs);
  void lower_operator(const std::string& name, const std::string& overload, const std::vector<Argument>& arguments,
                      const Json& outputs);
  // foreach.cc: operators on lists of tensors; false of others.
  bool lower_foreach(const std::string& name, const std::string& overload, const std::vector<Argument>& arguments,
                     const Json& outputs);
  bool lower_copy(const std::string& name, const std::string& overload, const std::vector<Argument>& arguments,
                  const Json& outputs);
  // A number in a tensor's place: a tensor without dimensions, of the dtype that leaves the others' as it is.
  ir::Value* as_tensor(ir::Value* number, const std::vector<Argument>& arguments);
  // Null where there is none of that name and overload.
  static const jit::Builtin* find_operator(const std::string& target);
  // Operands as an autocast region casts them.
  ir::Value* in_region(const std::string& name, const std::vector<Argument>& arguments, const Argument& argument,
                       ir::Value* value);
  // Results of an operator in such a region, in the dtypes that the graph says.
  void recast_outputs(const Json& outputs);
  // Of a tensor's argument; nullopt of any other.
  std::optional<DType> dtype_of_argument(const Argument& argument) const;
  bool is_unknown(const Json& argument);
  void bind_unknown(const Json& outputs);
  void lower_python(const std::string& name, const std::vector<Argument>& arguments, const Json& outputs);
  bool lower_check(const std::string& name, const std::vector<Argument>& arguments);
  void check_metadata(const std::vector<Argument>& arguments);
  void require(ir::Value* condition, const std::string& message);
  void bind_outputs(const Json& outputs, const Values& results);
  void bind_output(const Json& output, ir::Value* result);

  // --- regions.cc: operators that take graphs
  friend std::vector<std::string> region_names();
  struct Region;
  static std::span<const Region> regions();
  void lower_region(const std::string& name, const std::vector<Argument>& arguments, const Json& outputs);
  // A function that torch.vmap batches stands among the nodes, between two that say so; gives the last one's place.
  size_t lower_vmap(const Json& nodes, size_t begin, size_t end);
  void lower_autocast(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_effects(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_functionalized(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_cond(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_while(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_map(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_scan(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_associative_scan(const std::vector<Argument>& arguments, const Json& outputs);
  void lower_inline(const std::vector<Argument>& arguments, size_t graph, const Json& outputs);
  // The results of a graph for these inputs, added to the current block.
  Values inline_graph(const Json& graph, const Values& inputs);
  Values operands(const Argument& argument);
  const Json& graph_argument(const Argument& argument) const;
  // A loop over the elements of xs' first dimension: body(index, the elements).
  void loop_over(const Values& xs, const std::set<std::string>& assigned,
                 const std::function<void(const Values& elements)>& body);
  std::string fresh(std::string_view what) { return fmt::format("{}.{}", what, ++counter_); }
  void set(const std::string& name, ir::Value* value) { emitter_.set_name(name, jit::simple(value), range_); }
  ir::Value* get(const std::string& name) { return emitter_.get_name(name, range_)->value(); }

  jit::Emitter emitter_;
  jit::Range range_;
  ir::SourceLocation location_;
  std::string where_;         // the node, for messages
  std::vector<Graph> graphs_;  // from the outermost
  std::map<std::string, ir::Value*> objects_;
  std::map<std::string, std::string> copies_;   // from values made here to what they are copies of
  std::map<std::string, std::string> missing_;  // from an operator to why
  std::vector<std::optional<DType>> autocast_;  // of the regions around: the narrow dtype, nullopt where it is off
  int counter_ = 0;
};

}  // namespace weft::exported
