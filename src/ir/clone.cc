#include <unordered_map>

#include "ir/graph.h"
#include "ir/symbols.h"

namespace weft::ir {

// Copies a graph: new values, nodes and blocks, and every symbolic expression made again in the copy's
// environment. Constant arrays are shared. Value numbers are kept, so that both print the same.
class Cloner {
 public:
  explicit Cloner(const Graph& source) : source_(source), result_(std::make_unique<Graph>(source.name)) {}

  std::unique_ptr<Graph> run() {
    const SymEnv& env = source_.env();
    for (int i = 0; i < env.num_symbols(); ++i) {
      const int64_t hint = env.hints()[static_cast<size_t>(i)];
      if (env.is_size(i)) {
        result_->env().new_symbol(hint);
      } else {
        result_->env().new_any_symbol(hint);
      }
    }
    clone_params(source_.body(), result_->body());
    clone_nodes(source_.body(), result_->body());
    for (const WriteBack& write : source_.write_backs)
      result_->add_write_back(write.input, values_.at(write.value));
    for (const SymGuard& guard : env.guards()) {
      result_->env().add_guard(
          {guard.relation, substitute(guard.a, symbols_), substitute(guard.b, symbols_)});
    }
    result_->next_id_ = source_.next_id_;
    return std::move(result_);
  }

 private:
  Type clone_type(const Type& type) {
    Type result = type;
    if (type.kind == Type::Kind::Tensor) result.tensor = substitute(type.tensor, symbols_);
    return result;
  }

  void adopt(const Value* from, Value* to) {
    to->id = from->id;
    to->name = from->name;
    to->symbol = from->symbol;
    values_[from] = to;
  }

  void clone_params(const Block& from, Block& to) {
    for (const Value* param : from.params) adopt(param, result_->add_param(to, clone_type(param->type)));
  }

  void clone_nodes(const Block& from, Block& to) {
    for (const auto& node : from.nodes) clone_node(*node, to);
    for (const Value* value : from.returns) result_->add_return(to, values_.at(value));
  }

  void clone_node(const Node& from, Block& block) {
    auto node = std::make_unique<Node>();
    node->kind = from.kind;
    node->op = from.op;
    node->attrs = substitute(from.attrs, symbols_);
    node->constant = from.constant;
    node->script = from.script;
    node->payload = from.payload;
    node->location = from.location;
    for (const Value* input : from.inputs) node->inputs.push_back(input ? values_.at(input) : nullptr);
    Node* to = result_->insert(block, std::move(node), nullptr);
    for (const auto& inner : from.blocks) {
      to->blocks.push_back(std::make_unique<Block>());
      to->blocks.back()->graph = result_.get();
      to->blocks.back()->owner = to;
      clone_params(*inner, *to->blocks.back());
      clone_nodes(*inner, *to->blocks.back());
    }
    for (const Value* output : from.outputs) adopt(output, result_->add_output(to, clone_type(output->type)));
  }

  const Graph& source_;
  std::unique_ptr<Graph> result_;
  std::unordered_map<const Value*, Value*> values_;
  SymbolMap symbols_ = [this](int symbol) { return result_->env().symbol(symbol); };
};

std::unique_ptr<Graph> Graph::clone() const { return Cloner(*this).run(); }

}  // namespace weft::ir
