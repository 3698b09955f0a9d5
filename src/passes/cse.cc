#include <fmt/format.h>

#include <unordered_map>

#include "ir/text.h"
#include "passes/analysis.h"
#include "passes/pass.h"

namespace weft::passes {
namespace {

using ir::Node;
using ir::NodeKind;

constexpr int64_t kCompareLimit = 64;  // larger constants are equal only when they share memory

std::string constant_key(const Tensor& tensor) {
  std::string key = "constant " + describe(tensor) + " ";
  if (tensor.numel() > kCompareLimit || tensor.device().type != DeviceType::CPU) {
    return key + fmt::format("{}{}", fmt::ptr(tensor.storage().get()), tensor.offset()) +
           str(tensor.strides());
  }
  const Tensor dense = tensor.contiguous();
  return key.append(static_cast<const char*>(dense.data()),
                    static_cast<size_t>(dense.numel() * itemsize(dense.dtype())));
}

// Equal for nodes that compute the same; empty for those that must stay. `effects`: how many nodes before it
// have changed memory, which tells apart reads of the same memory.
std::string node_key(const Node& node, int effects) {
  if (node.kind == NodeKind::Constant) return constant_key(node.constant);
  if (node.kind != NodeKind::Op || !is_deterministic(*node.op) || has_effects(node)) return "";
  std::string key = node.op->name;
  for (const ir::Value* input : node.inputs) {
    key += input ? fmt::format(" {}", fmt::ptr(input)) : " none";
    if (input && effects > 0 && is_written(input)) key += fmt::format("@{}", effects);
  }
  for (const auto& [name, attr] : node.attrs.items())
    key += fmt::format(" {}={}:{}", name, attr.index(), ir::attr_text(attr));
  return key;
}

class Eliminator {
 public:
  explicit Eliminator(ir::Graph& graph) : graph_(graph) {}

  void run(ir::Block& block) {
    std::vector<std::string> added;
    for (auto it = block.nodes.begin(); it != block.nodes.end();) {
      Node* node = (it++)->get();
      const bool changes = writes_memory(*node);
      if (changes) ++effects_;  // before a loop's body too: its second round reads what the first has changed
      for (const auto& inner : node->blocks) run(*inner);
      if (changes) ++effects_;
      const std::string key = node_key(*node, effects_);
      if (key.empty()) continue;
      const auto [found, is_new] = first_.try_emplace(key, node);
      if (is_new) {
        added.push_back(key);
      } else {
        merge(node, found->second);
      }
    }
    for (const std::string& key : added) first_.erase(key);
  }

 private:
  void merge(Node* node, Node* first) {
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      if (!may_replace(node->outputs[i], first->outputs[i])) return;
    }
    for (size_t i = 0; i < node->outputs.size(); ++i)
      graph_.replace_uses(node->outputs[i], first->outputs[i]);
    graph_.erase(node);
  }

  ir::Graph& graph_;
  int effects_ = 0;
  std::unordered_map<std::string, Node*> first_;
};

}  // namespace

void eliminate_common_subexpressions(ir::Graph& graph) { Eliminator(graph).run(graph.body()); }

}  // namespace weft::passes
