#include "compiler/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/fusion_rules.h"
#include "compiler/repeated.h"
#include "nest/fusible.h"
#include "nest/views.h"
#include "passes/analysis.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

std::string label(const ir::Value* value) {
  std::string op = value->def ? std::string(value->def->kind_name()) : "input";
  return fmt::format("%{} ({})", value->name.empty() ? std::to_string(value->id) : value->name, op);
}

class Fuser {
 public:
  // `apart`: results of updates that are not computed in the memory of the input that they are written back
  // to.
  Fuser(const ir::Graph& graph, const std::vector<SymShape>& input_strides,
        const std::set<const ir::Value*>& apart)
      : graph_(graph), apart_(apart) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ir::Value* input = graph.inputs()[i];
      bool known = i < input_strides.size() && input_strides[i].size() == input->tensor().shape.size();
      if (known) strided_.insert(input);
      plan_.memory.strides[input] = known ? input_strides[i] : contiguous_sym_strides(input->tensor().shape);
    }
  }

  const FusionPlan& run() {
    collect_required();
    split_long_chains();
    constexpr int kMaxRounds = 100;
    for (int round = 0; round < kMaxRounds && store_what_would_repeat(); ++round) {
    }
    make_steps();
    while (store_what_kernels_share()) make_steps();
    if (drop_what_one_kernel_needs()) make_steps();
    for (auto& [result, update] : plan_.updates)
      update.keeps_base = !update.is_copied && reads_base_elsewhere(update);
    for (const FusionStep& step : plan_.steps)
      for (ir::Value* root : step.group.roots) plan_.elsewhere[root] = needs_of(root).elsewhere;
    return plan_;
  }

  // Of the updates that run() had computed in the memory of an input: those for which that is too early.
  std::set<const ir::Value*> too_early() {
    std::set<const ir::Value*> found;
    for (const ir::Value* result : over_inputs_)
      if (!may_replace_input(plan_.updates.at(result))) found.insert(result);
    return found;
  }

 private:
  const ir::Graph& graph_;
  const std::set<const ir::Value*>& apart_;
  std::set<const ir::Value*> strided_;  // inputs that are not contiguous
  std::set<const ir::Value*>
      over_inputs_;  // results of updates that are written back, and whose part a kernel writes
  FusionPlan plan_;
  std::map<const ir::Node*, size_t> order_;
  std::vector<ir::Node*> nodes_;       // in order
  std::set<ir::Node*> absorbed_;       // that are part of an update
  std::set<ir::Node*> calls_;          // operator calls and views of stored values that must exist
  std::vector<ir::Value*> roots_;      // values kernels write, in order
  std::set<const ir::Value*> shared_;  // of them, those that several kernels needed
  mutable std::map<const ir::Value*, bool> written_;  // by what they are views of

  void store(ir::Value* value, const std::string& why) {
    if (plan_.memory.holds(value)) return;
    plan_.memory.strides[value] = contiguous_sym_strides(value->tensor().shape);
    if (is_rotation(*value->def) || is_small_fill(*value->def)) calls_.insert(value->def);
    if (!calls_.count(value->def)) {
      const auto position =
          std::upper_bound(roots_.begin(), roots_.end(), value,
                           [&](ir::Value* a, ir::Value* b) { return order_[a->def] < order_[b->def]; });
      roots_.insert(position, value);
    }
    if (!why.empty()) plan_.notes.push_back(fmt::format("{} is stored: {}", label(value), why));
    if (is_rotation(*value->def))
      for (ir::Value* part : value->def->inputs) require(part, "it is joined");
  }

  // What is turned is read where the turned value is used, at other positions than the one written.
  void store_rotated(const ir::Node& rotation) {
    const ir::Value* operand = rotated_operand(rotation);
    while (operand->def && !plan_.memory.holds(operand) &&
           (is_index_view(*operand->def) || is_rotation(*operand->def)))
      operand = operand->def->inputs[0];
    if (operand->def && operand->def->kind != ir::NodeKind::Constant)
      store(const_cast<ir::Value*>(operand), "it is read at other positions");
  }

  // The value must exist as a tensor: stored, or a view of what is.
  void require(ir::Value* value, const std::string& why) {
    if (!value->def || plan_.memory.holds(value)) return;
    if (is_index_view(*value->def) && !has_own_memory(*value->def)) {
      calls_.insert(value->def);
      require(value->def->inputs[0], why);
      return;
    }
    store(value, why);
  }

  // A permutation that a kernel stores, of what is computed for it alone.
  bool has_own_memory(const ir::Node& view) const {
    const ir::Value* of = view.inputs[0];
    return view.attrs.find(ir::kOwnMemory) && of->uses.size() == 1 && of->def && !plan_.memory.holds(of) &&
           of->def->op && of->def->op->kind == ops::OpKind::Pointwise && is_fusible(*of->def) &&
           !absorbed_.count(of->def);
  }

  void collect_required() {
    for (const auto& node : graph_.body().nodes) {
      order_[node.get()] = nodes_.size();
      nodes_.push_back(node.get());
    }
    find_updates();
    store_reads_of_written();
    for (ir::Node* node : nodes_) {
      if (is_rotation(*node)) store_rotated(*node);
      if (is_fusible(*node) || absorbed_.count(node)) continue;
      calls_.insert(node);
      if (auto update = plan_.updates.find(node->outputs.empty() ? nullptr : node->outputs[0]);
          update != plan_.updates.end()) {
        store_update(update->second);
        continue;
      }
      for (ir::Value* output : node->outputs)
        plan_.memory.strides[output] = ops::result_strides(node->attrs, output->tensor().shape);
      for (ir::Value* input : node->inputs)
        if (input) require(input, fmt::format("{} is an operator call", node->kind_name()));
      require_captured(*node, *node);
    }
    for (ir::Value* output : graph_.outputs()) require(output, "");
    for (const ir::WriteBack& write_back : graph_.write_backs) {
      auto update = plan_.in_place.find(write_back.value);
      require(update == plan_.in_place.end() ? write_back.value : update->second.source, "");
    }
  }

  // Compilers take longer for an operation the more a kernel has, and more than these gain nothing.
  void split_long_chains() {
    constexpr size_t kMostOperations = 256;
    std::map<const ir::Value*, std::set<const ir::Node*>> computed_with;
    for (ir::Node* node : nodes_) {
      if (!is_fusible(*node) || absorbed_.count(node)) continue;
      std::set<const ir::Node*> all = {node};
      for (const ir::Value* input : node->inputs)
        if (const auto found = computed_with.find(input);
            found != computed_with.end() && !plan_.memory.holds(input))
          all.insert(found->second.begin(), found->second.end());
      const bool may_be_stored =
          !is_index_view(*node) && !is_rotation(*node) && !plan_.updating.count(node->output());
      if (all.size() >= kMostOperations && may_be_stored)
        store(node->output(), "a kernel of all that it is computed from would take long to compile");
      else
        computed_with[node->output()] = std::move(all);
    }
  }

  // What reads memory that a node changes is computed where it stands, not where it is used.
  void store_reads_of_written() {
    for (ir::Node* node : nodes_)
      if (is_fusible(*node) && !absorbed_.count(node) && !is_index_view(*node) && reads_written(*node))
        store(node->output(), "it reads what an operator call changes");
  }
  bool reads_written(const ir::Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const ir::Value* input) { return input && is_written(input); });
  }
  // Of a value that everything reads, all uses are looked at once.
  bool is_written(const ir::Value* value) const {
    const auto [found, is_new] = written_.try_emplace(passes::view_root(value), false);
    if (is_new) found->second = passes::is_written(value);
    return found->second;
  }

  // ---- updates of parts --------------------------------------------------------------------------------
  static Sym sym_of(const ir::Node& node, std::string_view name) {
    return std::get<Sym>(node.attrs.at(name));
  }

  bool is_result(const ir::Value* value) const {
    const auto& outputs = graph_.outputs();
    bool found = std::find(outputs.begin(), outputs.end(), value) != outputs.end();
    for (const ir::WriteBack& write_back : graph_.write_backs) found = found || write_back.value == value;
    return found;
  }
  bool has_one_use(const ir::Value* value) const { return value->uses.size() == 1 && !is_result(value); }

  void find_updates() {
    for (size_t n = nodes_.size(); n-- > 0;) {
      if (!replaces_part(*nodes_[n]) || absorbed_.count(nodes_[n])) continue;
      Update update{nodes_[n]->output(), nodes_[n]->inputs[0], nullptr, {}};
      std::vector<ir::Node*> inner;
      for (ir::Node* node = nodes_[n];;) {
        const auto ndim = static_cast<int64_t>(update.base->tensor().shape.size());
        update.starts.emplace_back(static_cast<size_t>((node->attrs.get_int("dim") + ndim) % ndim),
                                   sym_of(*node, "start"));
        update.source = node->inputs[1];
        ir::Node* next = update.source->def;
        const bool continues = next && replaces_part(*next) && has_one_use(update.source) &&
                               next->inputs[0]->def && next->inputs[0]->def->is("slice") &&
                               next->inputs[0]->def->inputs[0] == node->inputs[0] &&
                               passes::selects_same_range(*next->inputs[0]->def, *node);
        if (!continues) break;
        inner.push_back(next);
        node = next;
      }
      if (accept_update(update, !inner.empty())) absorbed_.insert(inner.begin(), inner.end());
    }
  }

  bool accept_update(Update& update, bool is_nested) {
    std::set<size_t> dims;
    for (const auto& [dim, start] : update.starts)
      if (!dims.insert(dim).second) return false;
    const bool written_back = is_written_back_only(update);
    if (written_back && !apart_.count(update.result) && !strided_.count(update.base) &&
        is_written_in_place(update)) {
      over_inputs_.insert(update.result);
    } else if (written_back) {
      plan_.in_place.emplace(update.result, update);
      absorbed_.insert(update.result->def);
      return true;
    }
    if (is_written(update.result) || is_written(update.base) || is_written(update.source)) return false;
    if (!is_written_in_place(update)) {
      // A single slice_update is an operator call that does the same.
      if (!is_nested) return false;
      update.is_copied = true;
      plan_.updates.emplace(update.result, update);
      return true;
    }
    const ir::Node* source = update.source->def;
    plan_.updates.emplace(update.result, update);
    plan_.updating.insert(update.source);
    order_[source] = order_[update.result->def];
    return true;
  }

  // Can a kernel write the source where it belongs?
  bool is_written_in_place(const Update& update) const {
    const ir::Node* source = update.source->def;
    if (!source || !order_.count(source) || !has_one_use(update.source) || !is_fusible(*source)) return false;
    if (reads_written(*source) || !source->op) return false;
    return source->op->kind == ops::OpKind::Pointwise || source->op->kind == ops::OpKind::Reduction;
  }

  // The rest of the base holds already what is to be written to it.
  bool is_written_back_only(const Update& update) const {
    for (const ir::Use& use : update.result->uses)
      if (use.user || use.block) return false;
    size_t writes = 0;
    bool own = false;
    for (const ir::WriteBack& write_back : graph_.write_backs) {
      if (write_back.value == update.result) ++writes;
      if (write_back.value == update.result) own = graph_.inputs()[write_back.input] == update.base;
    }
    return writes == 1 && own;
  }

  // Does nothing from the part's kernel on need what the input held before, also if an operator fails?
  bool may_replace_input(const Update& update) {
    if (update.keeps_base) return false;
    const auto is_old = [&](const ir::Value* value) {
      return value && passes::view_root(value) == update.base;
    };
    for (const ir::Value* output : graph_.outputs())
      if (is_old(output)) return false;
    for (const ir::WriteBack& write_back : graph_.write_backs)
      if (is_old(write_back.value)) return false;
    bool after = false;
    for (const FusionStep& step : plan_.steps) {
      const auto& roots = step.group.roots;
      if (step.node && passes::writes_memory(*step.node)) return false;
      if (after && step.node && !replaces_or_views(*step.node)) return false;
      if (after && step.node && std::any_of(step.node->inputs.begin(), step.node->inputs.end(), is_old))
        return false;
      for (ir::Value* root : roots) {
        if (!after) break;
        if (!plan_.updating.count(root)) return false;  // memory for it may be wanting
        const std::vector<const ir::Value*> reads = needs_of(root).reads;
        if (std::any_of(reads.begin(), reads.end(), is_old)) return false;
      }
      after = after || std::find(roots.begin(), roots.end(), update.source) != roots.end();
    }
    return true;
  }

  void store_update(const Update& update) {
    require(update.base, "a part of it is replaced");
    const SymShape strides = contiguous_sym_strides(update.result->tensor().shape);
    plan_.memory.strides[update.result] = strides;
    if (update.is_copied) return require(update.source, "it is copied into an array");
    store(update.source, "it replaces a part of an array");
    plan_.memory.strides[update.source] = strides;
  }

  // Does the kernel that writes the part read the base at another position than the one it writes?
  bool reads_base_elsewhere(const Update& update) {
    IndexSpace space;
    std::vector<Index> index;
    const std::vector<Visit> visits = walk(update.source, space, &index);
    for (const auto& [dim, start] : update.starts) index[dim] = space.add(index[dim], Index(start));
    const std::string here = space.key(space.flatten(index, update.base->tensor().shape));
    const ir::Value* memory = passes::view_root(update.base);
    return std::any_of(visits.begin(), visits.end(), [&](const Visit& visit) {
      return !visit.is_reduction && passes::view_root(visit.value) == memory &&
             (visit.value != update.base || space.key(visit.address) != here);
    });
  }

  // Values that the blocks of a control-flow node use from outside.
  void require_captured(const ir::Node& node, const ir::Node& owner) {
    for (const auto& block : node.blocks) {
      for (const auto& inner : block->nodes) {
        for (ir::Value* input : inner->inputs)
          if (input) require_if_outer(input, owner);
        require_captured(*inner, owner);
      }
      for (ir::Value* value : block->returns) require_if_outer(value, owner);
    }
  }
  void require_if_outer(ir::Value* value, const ir::Node& owner) {
    if (value->def && order_.count(value->def))
      require(value, fmt::format("used inside {}", owner.kind_name()));
  }

  std::vector<Visit> walk(ir::Value* root, IndexSpace& space, std::vector<Index>* index,
                          std::vector<Visit>* pointwise = nullptr, std::vector<Visit>* rotations = nullptr) {
    const SymShape& shape = root->tensor().shape;
    std::vector<int> loops;
    index->assign(shape.size(), Index());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (known_one(shape[d])) continue;
      loops.push_back(space.new_loop("i", shape[d]));
      (*index)[d] = IndexSpace::of(loops.back());
    }
    std::set<const ir::Value*> inside = {root};
    Walk walk(space, plan_.memory, &inside);
    walk.run(root, *index, loops);
    if (pointwise) *pointwise = std::move(walk.pointwise);
    if (rotations) *rotations = std::move(walk.rotations);
    return walk.visits;
  }

  bool store_what_would_repeat() {
    for (ir::Value* root : std::vector<ir::Value*>(roots_)) {
      IndexSpace space;
      std::vector<Index> index;
      std::vector<Visit> pointwise, rotations;
      std::vector<Visit> visits = walk(root, space, &index, &pointwise, &rotations);
      for (const Visit& visit : rotations) {
        if (is_in_order(visit, space)) continue;
        store(const_cast<ir::Value*>(visit.value), "its elements are not read in order");
        return true;
      }
      for (const Visit& visit : pointwise) {
        if (visit.value == root || !is_repeated(visit, space)) continue;
        store(const_cast<ir::Value*>(visit.value), "it would be computed again for each outer position");
        return true;
      }
      size_t num_outer = 0;
      for (const Sym& size : root->tensor().shape) num_outer += !known_one(size);
      for (const Visit& visit : visits) {
        if (!visit.is_reduction || visit.value == root) continue;
        std::string why = repeats(visit, space, num_outer);
        if (why.empty()) continue;
        store(const_cast<ir::Value*>(visit.value), why);
        return true;
      }
    }
    return false;
  }

  // ---- steps -------------------------------------------------------------------------------------------
  struct Needs {
    std::vector<const ir::Value*> reads;
    std::set<const ir::Value*> elsewhere;  // read at another position than the one written
  };

  Needs needs_of(ir::Value* root) {
    IndexSpace space;
    std::vector<Index> index;
    std::vector<Visit> visits = walk(root, space, &index);
    Needs needs;
    std::string here = space.key(space.flatten(index, root->tensor().shape));
    for (const Visit& visit : visits) {
      if (visit.is_reduction) continue;
      needs.reads.push_back(visit.value);
      bool same_shape = visit.value->tensor().shape.size() == root->tensor().shape.size();
      if (!same_shape || space.key(visit.address) != here) needs.elsewhere.insert(visit.value);
    }
    return needs;
  }

  void make_steps() {
    constexpr size_t kMostStepsApart = 256;  // values further apart share nothing that caches still hold
    plan_.steps.clear();
    std::map<const ir::Value*, size_t> producer;  // step that makes a value, plus one
    auto made_by = [&](const ir::Value* value) {
      auto found = producer.find(value);
      return found == producer.end() ? size_t{0} : found->second;
    };
    std::map<const ir::Value*, Needs> needs;
    size_t next_root = 0;
    for (size_t number = 0; number < nodes_.size(); ++number) {
      ir::Node* node = nodes_[number];
      if (calls_.count(node)) {
        plan_.steps.emplace_back();
        plan_.steps.back().node = node;
        for (const ir::Value* output : node->outputs) producer[output] = plan_.steps.size();
      }
      // What an update writes comes after the node that makes room for it.
      for (; next_root < roots_.size() && order_[roots_[next_root]->def] == number; ++next_root) {
        ir::Value* root = roots_[next_root];
        Needs& need = needs[root] = needs_of(root);
        size_t joined = plan_.steps.size();
        const size_t farthest = joined > kMostStepsApart ? joined - kMostStepsApart : 0;
        for (size_t s = joined; s-- > farthest;) {
          if (can_join(plan_.steps[s], s, root, need, needs, made_by)) {
            joined = s;
            break;
          }
        }
        if (joined == plan_.steps.size()) plan_.steps.emplace_back();
        plan_.steps[joined].group.roots.push_back(root);
        producer[root] = joined + 1;
        if (plan_.updating.count(root))
          for (const ir::Value* output : node->outputs) producer[output] = joined + 1;
      }
    }
  }

  template <class MadeBy>
  bool can_join(const FusionStep& step, size_t number, const ir::Value* root, const Needs& need,
                std::map<const ir::Value*, Needs>& needs, const MadeBy& made_by) {
    constexpr size_t kMaxRoots = 8;
    if (step.node || step.group.roots.size() >= kMaxRoots || !have_same_shape(step.group.roots[0], root))
      return false;
    if (reads_written(*root->def) && has_effects_after(number)) return false;
    if (plan_.updating.count(root) || plan_.updating.count(step.group.roots[0])) return false;
    bool shares = false;
    for (const ir::Value* read : need.reads) {
      if (made_by(read) > number + 1) return false;
      bool own = std::find(step.group.roots.begin(), step.group.roots.end(), read) != step.group.roots.end();
      if (own && need.elsewhere.count(read)) return false;
      shares = shares || own;
      for (const ir::Value* other : step.group.roots) {
        const auto& reads = needs[other].reads;
        shares = shares || std::find(reads.begin(), reads.end(), read) != reads.end();
      }
    }
    return shares;
  }

  bool has_effects_after(size_t number) const {
    return std::any_of(plan_.steps.begin() + static_cast<ptrdiff_t>(number), plan_.steps.end(),
                       [](const FusionStep& step) { return step.node && passes::writes_memory(*step.node); });
  }

  // Reductions and costly values that more than one kernel evaluates are stored, and values of many others:
  // what one step of a recurrence hands to the next would be computed from all steps before.
  bool store_what_kernels_share() {
    std::map<const ir::Value*, Kernels> evaluated_in;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      std::set<const ir::Value*> inside(plan_.steps[s].group.roots.begin(), plan_.steps[s].group.roots.end());
      std::set<const ir::Value*> seen;
      for (const ir::Value* root : plan_.steps[s].group.roots)
        collect_evaluated(root, inside, s, evaluated_in, seen);
    }
    bool has_stored = false;
    for (ir::Node* node : nodes_) {
      for (ir::Value* output : node->outputs) {
        auto found = evaluated_in.find(output);
        if (found == evaluated_in.end() || found->second.count < 2 || plan_.memory.holds(output)) continue;
        if (!is_costly(*node) && !has_many_sources(output)) continue;
        store(output, fmt::format("{} kernels need it", found->second.count));
        shared_.insert(output);
        has_stored = true;
      }
    }
    return has_stored;
  }

  // What several kernels needed until values behind it were stored, too.
  bool drop_what_one_kernel_needs() {
    std::map<const ir::Value*, Kernels> read_in;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const FusionStep& step = plan_.steps[s];
      for (ir::Value* root : step.group.roots)
        for (const ir::Value* read : needs_of(root).reads)
          if (std::find(step.group.roots.begin(), step.group.roots.end(), read) == step.group.roots.end())
            read_in[read].note(s);
      if (!step.node) continue;
      for (const ir::Value* input : step.node->inputs)
        if (input) read_in[passes::view_root(input)].note(s);
    }
    const auto is_dropped = [&](const ir::Value* value) {
      return shared_.count(value) > 0 && read_in.count(value) == 0;
    };
    const size_t before = roots_.size();
    for (const ir::Value* root : roots_)
      if (is_dropped(root)) plan_.memory.strides.erase(root);
    std::erase_if(roots_, is_dropped);
    return roots_.size() != before;
  }

  // In how many kernels, which are looked at one after the other.
  struct Kernels {
    size_t count = 0, last = 0;
    void note(size_t kernel) {
      if (count > 0 && last == kernel) return;
      ++count;
      last = kernel;
    }
  };

  void collect_evaluated(const ir::Value* value, const std::set<const ir::Value*>& inside, size_t step,
                         std::map<const ir::Value*, Kernels>& evaluated_in,
                         std::set<const ir::Value*>& seen) {
    if (!value->def || !seen.insert(value).second || (plan_.memory.holds(value) && !inside.count(value)))
      return;
    evaluated_in[value].note(step);
    for (const ir::Value* input : value->def->inputs)
      if (input) collect_evaluated(input, inside, step, evaluated_in, seen);
  }

  // Reading the value costs less than reading those of its shape that it is computed from.
  bool has_many_sources(const ir::Value* value) const {
    constexpr size_t kMany = 4;
    if (!value->def->op || value->def->op->kind != ops::OpKind::Pointwise) return false;
    std::set<const ir::Value*> seen = {value}, sources;
    for (std::vector<const ir::Value*> next = {value}; !next.empty() && sources.size() < kMany;) {
      const ir::Value* at = next.back();
      next.pop_back();
      if (at != value && plan_.memory.holds(at)) {
        if (have_same_shape(at, value)) sources.insert(at);
        continue;
      }
      if (!at->def || !is_fusible(*at->def)) continue;
      for (const ir::Value* input : at->def->inputs)
        if (input && seen.insert(input).second) next.push_back(input);
    }
    return sources.size() >= kMany;
  }
};

}  // namespace

FusionPlan fuse(const ir::Graph& graph, const std::vector<SymShape>& input_strides) {
  std::set<const ir::Value*> apart;
  for (;;) {
    Fuser fuser(graph, input_strides, apart);
    FusionPlan plan = fuser.run();
    const std::set<const ir::Value*> too_early = fuser.too_early();
    if (too_early.empty()) return plan;
    apart.insert(too_early.begin(), too_early.end());
  }
}

}  // namespace weft::compiler
