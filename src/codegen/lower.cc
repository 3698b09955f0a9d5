#include "codegen/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "codegen/names.h"
#include "codegen/views.h"

namespace weft::codegen {

namespace {

using ops::ReduceOp;
using scalar::Prim;

class Lowering {
 public:
  Lowering(const FusionGroup& group, const Memory& memory, const LowerOptions& options)
      : group_(group), memory_(memory), inside_(group.roots.begin(), group.roots.end()) {
    nest_.vector_bytes = options.vector_bytes;
    nest_.scopes.emplace_back();
    streamed_ = options.streamed;
  }

  // True if a value was to be kept in the result's memory, and no loop came by that could put it there.
  bool spill_failed() const { return spilled_ != nullptr && !spill_stored_; }
  void forbid_spills() { may_spill_ = false; }

  LoopNest run() {
    nest_.name = kernel_name(group_.roots, memory_);
    nest_.comments = kernel_comments(group_.roots, memory_);
    SymShape shape = group_.roots[0]->tensor().shape;
    OuterLoops outer = choose_outer_loops(shape);
    std::vector<std::vector<size_t>> written_out;
    if (outer.unroll_last) {
      written_out.push_back(outer.groups.back());
      outer.groups.pop_back();
    }
    std::vector<Index> index = make_outer_loops(shape, outer);
    if (may_spill_ && !outer.rows && outer.groups.size() > 1) find_spills();
    for (ir::Value* root : group_.roots) {
      int buffer = buffer_of(root);
      nest_.buffers[static_cast<size_t>(buffer)].written = true;
      nest_.buffers[static_cast<size_t>(buffer)].count = product(shape);
      if (written_out.empty()) {
        NodeId value = evaluate(root, index);
        nest_.scope(innermost_).stores.push_back({buffer, address(root, index), value});
      } else {
        store_written_out(root, buffer, index, written_out[0], shape);
      }
    }
    choose_lanes();
    estimate_cost();
    nest_.may_stream = streamed_ && writes_much();
    schedule(nest_);
    return std::move(nest_);
  }

 private:
  const FusionGroup& group_;
  const Memory& memory_;
  std::set<const ir::Value*> inside_;
  LoopNest nest_;
  ScopeId innermost_ = 0;
  std::map<const ir::Value*, int> buffer_ids_;
  std::map<const ir::Value*, std::set<const ir::Value*>> reductions_below_;
  std::set<NodeId> known_nonnegative_;
  const ir::Value* spilled_ = nullptr;
  bool may_spill_ = true, spill_stored_ = false;

  // Stores the elements along `dims` one by one, or interleaved where lanes run across them.
  void store_written_out(ir::Value* root, int buffer, std::vector<Index> index,
                         const std::vector<size_t>& dims, const SymShape& shape) {
    SymShape part;
    for (size_t d : dims) part.push_back(shape[d]);
    int64_t count = product(part).constant();
    std::vector<Store> stores;
    for (int64_t k = 0; k < count; ++k) {
      std::vector<Index> positions = nest_.space.unflatten(Index(k), part);
      for (size_t p = 0; p < dims.size(); ++p) index[dims[p]] = positions[p];
      NodeId value = evaluate(root, index);
      stores.push_back({buffer, address(root, index), value});
    }
    auto& target = nest_.scope(innermost_).stores;
    if (nest_.scope(innermost_).kind != Scope::Kind::Vector) {
      target.insert(target.end(), stores.begin(), stores.end());
      return;
    }
    for (size_t k = 1; k < stores.size(); ++k) stores[0].more.push_back(stores[k].value);
    target.push_back(stores[0]);
  }

  // A costly value that a reduction along the rows needs and then the rows themselves (the exponentials of a
  // softmax) is kept in the result's own memory in between.
  void find_spills() {
    if (group_.roots.size() != 1) return;
    ir::Value* root = group_.roots[0];
    if (!root->def || root->def->kind != ir::NodeKind::Op) return;
    std::set<const ir::Value*> direct, reduced;
    collect_pointwise(root, direct, &reduced);
    for (const ir::Value* value : direct) {
      const ir::TensorType &a = value->tensor(), &b = root->tensor();
      if (value == root || !reduced.count(value) || a.dtype != b.dtype || a.shape.size() != b.shape.size())
        continue;
      bool same = value->def->op && value->def->op->kind == ops::OpKind::Pointwise &&
                  pointwise_cost(*value->def) >= 10;
      for (size_t d = 0; same && d < a.shape.size(); ++d) same = sym_known_equal(a.shape[d], b.shape[d]);
      if (same) spilled_ = value;
      if (same) return;
    }
  }

  // Values computed at the root's own position, and those that reductions on the way need.
  void collect_pointwise(const ir::Value* value, std::set<const ir::Value*>& direct,
                         std::set<const ir::Value*>* reduced) {
    if (!value->def || (memory_.holds(value) && !inside_.count(value)) || !direct.insert(value).second)
      return;
    const ir::Node& node = *value->def;
    if (!node.op || node.op->kind != ops::OpKind::Pointwise) return;
    for (const ir::Value* input : node.inputs) {
      if (!input) continue;
      bool is_reduction = input->def && input->def->op && input->def->op->kind == ops::OpKind::Reduction;
      if (!is_reduction) {
        collect_pointwise(input, direct, reduced);
      } else if (reduced && !is_unrolled(*input->def)) {
        std::vector<size_t> dims = reduced_dims(*input->def);
        const ir::Value* operand = input->def->inputs[0];
        if (dims.size() == 1 && dims[0] + 1 == operand->tensor().shape.size())
          collect_pointwise(operand, *reduced, nullptr);
      }
    }
  }

  // ---- outer loops -------------------------------------------------------------------------------------
  // Index of the roots for a partition of their dimensions into loops.
  std::vector<Index> index_for(IndexSpace& space, const SymShape& shape,
                               const std::vector<std::vector<size_t>>& groups, std::vector<int>* loops) {
    std::vector<Index> index(shape.size());
    size_t number = 0;
    for (const auto& dims : groups) {
      SymShape part;
      for (size_t d : dims) part.push_back(shape[d]);
      static constexpr const char* kNames[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
      int loop = space.new_loop(number < 8 ? kNames[number] : fmt::format("i{}", number), product(part));
      ++number;
      loops->push_back(loop);
      std::vector<Index> positions = space.unflatten(IndexSpace::of(loop), part);
      for (size_t k = 0; k < dims.size(); ++k) index[dims[k]] = positions[k];
    }
    return index;
  }

  OuterLoops choose_outer_loops(const SymShape& shape) {
    OuterLoops outer;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!known_one(shape[d])) outer.groups.push_back({d});
    for (size_t g = outer.groups.size(); g-- > 1;) {
      auto merged = outer.groups;
      merged[g - 1].insert(merged[g - 1].end(), merged[g].begin(), merged[g].end());
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(g));
      if (is_affine(shape, merged)) outer.groups = merged;
    }
    outer.rows = !outer.groups.empty() && prefers_rows(shape, outer.groups);
    outer.unroll_last = prefers_unrolled(shape, outer);
    return outer;
  }

  // A small result of large reductions: each element is a reduction of its own, all in one parallel loop. Or
  // a few columns that differ in more than their position: lanes run along the rows.
  bool prefers_unrolled(const SymShape& shape, const OuterLoops& outer) {
    constexpr int64_t kMaxElements = 8, kMaxColumns = 4, kManyRows = 64, kManyReduced = 16384;
    if (outer.groups.empty()) return false;
    Sym last = 1;
    for (size_t d : outer.groups.back()) last = last * shape[d];
    if (!last.is_constant() || last.constant() < 2) return false;
    if (outer.groups.size() == 1) {
      if (last.constant() > kMaxElements) return false;
      for (ir::Value* root : group_.roots)
        for (const ir::Value* reduction : reductions_below(root))
          if (reduction_extent(*reduction->def).hint() >= kManyReduced) return true;
      return false;
    }
    if (outer.rows || last.constant() > kMaxColumns || is_part(group_.roots[0])) return false;
    for (ir::Value* root : group_.roots)
      if (!reductions_below(root).empty()) return false;
    Sym rows = 1;
    for (size_t d : outer.groups[outer.groups.size() - 2]) rows = rows * shape[d];
    return rows.hint() >= kManyRows;
  }

  bool is_affine(const SymShape& shape, const std::vector<std::vector<size_t>>& groups) {
    IndexSpace space;
    std::vector<int> loops;
    std::vector<Index> index = index_for(space, shape, groups, &loops);
    Walk walk(space, memory_, &inside_);
    for (ir::Value* root : group_.roots) {
      if (!walk.run(root, index, loops)) return false;
      Index target;
      for (size_t d = 0; is_part(root) && d < shape.size(); ++d)
        target = space.add(target, space.scale(index[d], memory_.strides.at(root)[d]));
      if (!space.is_affine(target)) return false;
    }
    return true;
  }

  // True if the value is a part of a larger array, so that there are gaps in what is written.
  bool is_part(const ir::Value* root) const {
    const SymShape& shape = root->tensor().shape;
    const SymShape contiguous = contiguous_sym_strides(shape), &strides = memory_.strides.at(root);
    for (size_t d = 0; d < shape.size(); ++d)
      if (!known_one(shape[d]) && !sym_known_equal(contiguous[d], strides[d])) return true;
    return false;
  }

  // True if the reductions inside read along their own last loop rather than along the outer one.
  bool prefers_rows(const SymShape& shape, const std::vector<std::vector<size_t>>& groups) {
    IndexSpace space;
    std::vector<int> loops;
    std::vector<Index> index = index_for(space, shape, groups, &loops);
    Walk walk(space, memory_, &inside_);
    for (ir::Value* root : group_.roots) walk.run(root, index, loops);
    int along_reduction = 0, along_outer = 0;
    bool any = false;
    for (const Visit& visit : walk.visits) {
      if (visit.is_reduction) {
        any = any || (visit.loops.count(loops.back()) && !is_unrolled(*visit.value->def));
        continue;
      }
      bool outer_unit = false, other_unit = false;
      for (const auto& [atom, coefficient] : visit.address.terms) {
        if (!known_one(coefficient)) continue;
        if (atom == loops.back())
          outer_unit = true;
        else if (std::find(loops.begin(), loops.end(), atom) == loops.end())
          other_unit = true;
      }
      bool depends_on_outer = space.depends_on(visit.address, loops.back());
      if (outer_unit) along_outer += 2;
      if (other_unit && depends_on_outer) along_reduction += 2;
    }
    return any && along_reduction > along_outer;
  }

  std::vector<Index> make_outer_loops(const SymShape& shape, const OuterLoops& outer) {
    std::vector<int> loops;
    std::vector<Index> index = index_for(nest_.space, shape, outer.groups, &loops);
    if (loops.empty()) return index;
    Scope parallel;
    parallel.kind = Scope::Kind::Parallel;
    parallel.loops.assign(loops.begin(), outer.rows ? loops.end() : loops.end() - 1);
    ScopeId parallel_id = add_scope(0, parallel);
    nest_.scope(0).children.push_back(parallel_id);
    innermost_ = parallel_id;
    if (!outer.rows) {
      Scope vector;
      vector.kind = Scope::Kind::Vector;
      vector.loops = {loops.back()};
      vector.lanes = 2;  // vectorized; how many lanes follows from the types, once all nodes are there
      innermost_ = add_scope(parallel_id, vector);
      nest_.scope(parallel_id).children.push_back(innermost_);
    }
    return index;
  }

  ScopeId add_scope(ScopeId parent, Scope scope) {
    scope.parent = parent;
    ScopeId id = static_cast<ScopeId>(nest_.scopes.size());
    for (int loop : scope.loops) nest_.space.atom(loop).scope = id;
    nest_.scopes.push_back(std::move(scope));
    return id;
  }

  // ---- nodes -------------------------------------------------------------------------------------------
  ScopeId scope_of(const std::vector<Index>& index) {
    ScopeId result = 0;
    int best = 0;
    std::set<int> loops;
    for (const Index& i : index) nest_.space.collect_loops(i, loops);
    for (int loop : loops) {
      ScopeId scope = nest_.space.atom(loop).scope;
      int depth = nest_.depth(scope);
      if (depth > best) best = depth, result = scope;
    }
    return result;
  }

  bool is_varying(const Index& index, ScopeId scope) {
    int loop = nest_.vector_loop(scope);
    return loop >= 0 && nest_.space.depends_on(index, loop);
  }

  NodeId add_node(KernelNode node, const std::string& key) {
    auto& known = nest_.scope(node.scope).nodes;
    if (auto found = known.find(key); found != known.end()) return found->second;
    NodeId id = static_cast<NodeId>(nest_.nodes.size());
    known[key] = id;
    nest_.nodes.push_back(std::move(node));
    return id;
  }

  NodeId constant(Scalar value, DType dtype) {
    KernelNode node;
    node.kind = KernelNode::Kind::Constant;
    node.dtype = dtype;
    node.value = value;
    return add_node(
        node, fmt::format("const {} {} {}", short_name(dtype), value.str(), static_cast<int>(value.kind())));
  }

  NodeId position(const Index& index) {
    if (index.is_constant() && index.constant.is_constant())
      return constant(Scalar(index.constant.constant()), DType::I64);
    KernelNode node;
    node.kind = KernelNode::Kind::Position;
    node.dtype = DType::I64;
    node.index = index;
    node.scope = scope_of({index});
    node.varying = is_varying(index, node.scope);
    return add_node(node, "position " + nest_.space.key(index));
  }

  NodeId apply(KernelNode node) {
    std::string key =
        fmt::format("apply {} {} {} {}{}", static_cast<int>(node.kind), static_cast<int>(node.prim),
                    short_name(node.dtype), node.through_root, node.largest);
    int best = -1;
    for (NodeId arg : node.args) {
      const KernelNode& a = nest_.node(arg);
      int depth = nest_.depth(a.scope);
      if (depth > best) best = depth, node.scope = a.scope;
      node.varying = node.varying || a.varying;
      key += fmt::format(" {}", arg);
    }
    return add_node(std::move(node), key);
  }

  NodeId apply(Prim prim, DType dtype, std::vector<NodeId> args) {
    KernelNode node;
    node.kind = KernelNode::Kind::Apply;
    node.prim = prim;
    node.dtype = dtype;
    node.args = std::move(args);
    return apply(std::move(node));
  }

  NodeId cast(DType dtype, NodeId a) {
    DType from = nest_.node(a).dtype;
    // Held in the same register type, and exact.
    if (from == dtype || (dtype == DType::F32 && (from == DType::F16 || from == DType::BF16))) return a;
    return apply(Prim::Cast, dtype, {a});
  }

  int buffer_of(const ir::Value* value) {
    auto [found, added] = buffer_ids_.try_emplace(value, static_cast<int>(nest_.buffers.size()));
    if (added) {
      Buffer buffer;
      buffer.value = value;
      buffer.dtype = value->tensor().dtype;
      buffer.name = buffer_name(*value, nest_.buffers, inside_.count(value) != 0);
      nest_.buffers.push_back(buffer);
    }
    return found->second;
  }

  Index address(const ir::Value* value, const std::vector<Index>& index) {
    Index result;
    auto found = memory_.strides.find(value);
    WEFT_ASSERT(found != memory_.strides.end(), "value is not in memory");
    for (size_t d = 0; d < index.size(); ++d)
      result = nest_.space.add(result, nest_.space.scale(index[d], found->second[d]));
    return result;
  }

  NodeId load(const ir::Value* value, const std::vector<Index>& index) {
    KernelNode node;
    node.kind = KernelNode::Kind::Load;
    node.dtype = value->tensor().dtype;
    node.buffer = buffer_of(value);
    node.index = address(value, index);
    node.scope = scope_of({node.index});
    node.varying = is_varying(node.index, node.scope);
    std::string key = fmt::format("load {} {}", node.buffer, nest_.space.key(node.index));
    return add_node(std::move(node), key);
  }

  // ---- values ------------------------------------------------------------------------------------------
  NodeId evaluate(const ir::Value* value, std::vector<Index> index) {
    const SymShape& shape = value->tensor().shape;
    std::string key = fmt::format("value {}", value->id);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (known_one(shape[d])) index[d] = Index();
      key += "," + nest_.space.key(index[d]);
    }
    ScopeId scope = scope_of(index);
    auto& known = nest_.scope(scope).nodes;
    if (auto found = known.find(key); found != known.end()) return found->second;
    NodeId result = value == spilled_ ? compute_spilled(value, index, scope) : compute(value, index);
    nest_.scope(scope).nodes[key] = result;
    return result;
  }

  NodeId compute_spilled(const ir::Value* value, const std::vector<Index>& index, ScopeId scope) {
    if (scope == innermost_) return load(group_.roots[0], index);
    NodeId result = compute(value, index);
    const Scope& s = nest_.scope(scope);
    if (s.kind == Scope::Kind::VectorReduce && s.parent == nest_.scope(innermost_).parent) {
      nest_.scope(scope).stores.push_back(
          {buffer_of(group_.roots[0]), address(group_.roots[0], index), result});
      spill_stored_ = true;
    }
    return result;
  }

  NodeId compute(const ir::Value* value, const std::vector<Index>& index) {
    if (memory_.holds(value) && !inside_.count(value)) return load(value, index);
    const ir::Node& node = *value->def;
    if (node.kind == ir::NodeKind::Constant) return constant(node.constant.item(), value->tensor().dtype);
    if (is_index_view(node)) return evaluate(node.inputs[0], view_operand_index(nest_.space, node, index));
    switch (node.op->kind) {
      case ops::OpKind::Pointwise: return pointwise(node, index);
      case ops::OpKind::Creation: return creation(node, index);
      case ops::OpKind::Reduction: return reduction(value, node, index);
      default: break;
    }
    WEFT_ASSERT(false, std::string("not fusible: ") + std::string(node.kind_name()));
    return -1;
  }

  NodeId creation(const ir::Node& node, const std::vector<Index>& index) {
    DType dtype = node.output()->tensor().dtype;
    if (node.is("full")) return constant(creation_scalar(node, "value"), dtype);
    DType compute = compute_dtype(dtype);
    NodeId at = cast(compute, position(index[0]));
    NodeId step = constant(creation_scalar(node, "step"), compute),
           start = constant(creation_scalar(node, "start"), compute);
    NodeId result = apply(Prim::Add, compute, {start, apply(Prim::Mul, compute, {at, step})});
    return cast(dtype, result);
  }

  static Scalar creation_scalar(const ir::Node& node, std::string_view name) {
    const ops::Attr& attr = node.attrs.at(name);
    if (const Scalar* value = std::get_if<Scalar>(&attr)) return *value;
    if (const double* value = std::get_if<double>(&attr)) return Scalar(*value);
    if (const bool* value = std::get_if<bool>(&attr)) return Scalar(*value);
    return Scalar(std::get<Sym>(attr).constant());
  }

  NodeId pointwise(const ir::Node& node, const std::vector<Index>& index) {
    std::vector<NodeId> operands;
    std::vector<scalar::Expr> args;
    for (const ir::Value* input : node.inputs) {
      if (!input) continue;
      operands.push_back(evaluate(input, broadcast_operand_index(input->tensor().shape, index)));
      args.push_back(scalar::Expr::arg(static_cast<int>(args.size()), compute_dtype(input->tensor().dtype)));
    }
    scalar::Expr expression = node.op->semantics(args, node.attrs);
    std::unordered_map<const scalar::ExprNode*, NodeId> done;
    return cast(node.output()->tensor().dtype, translate(expression, operands, done));
  }

  NodeId translate(const scalar::Expr& expression, const std::vector<NodeId>& operands,
                   std::unordered_map<const scalar::ExprNode*, NodeId>& done) {
    if (auto found = done.find(expression.get()); found != done.end()) return found->second;
    const scalar::ExprNode& node = expression.node();
    NodeId result;
    if (node.prim == Prim::Arg) {
      result = operands[static_cast<size_t>(node.index)];
    } else if (node.prim == Prim::Const) {
      result = constant(node.value, node.dtype);
    } else {
      std::vector<NodeId> args;
      for (const scalar::Expr& arg : node.args) args.push_back(translate(arg, operands, done));
      result = node.prim == Prim::Cast ? cast(node.dtype, args[0]) : apply(node.prim, node.dtype, args);
    }
    return done[expression.get()] = result;
  }

  // ---- reductions --------------------------------------------------------------------------------------
  static bool is_arg_reduction(ReduceOp op) { return op == ReduceOp::ArgMin || op == ReduceOp::ArgMax; }

  // Type the reduction is carried out in.
  static DType accumulator_dtype(const ir::Node& node) {
    DType in = node.inputs[0]->tensor().dtype, out = node.output()->tensor().dtype;
    switch (node.op->reduce) {
      case ReduceOp::Sum:
      case ReduceOp::Prod: return compute_dtype(out);
      case ReduceOp::Any:
      case ReduceOp::All: return DType::Bool;
      default: return in == DType::Bool ? DType::U8 : compute_dtype(in);
    }
  }

  NodeId reduction(const ir::Value* value, const ir::Node& node, const std::vector<Index>& index) {
    NodeId result = is_unrolled(node) ? unrolled_reduction(node, index) : loop_reduction(value, node, index);
    return cast(value->tensor().dtype, result);
  }

  NodeId unrolled_reduction(const ir::Node& node, const std::vector<Index>& index) {
    SymShape extents;
    for (size_t d : reduced_dims(node)) extents.push_back(node.inputs[0]->tensor().shape[d]);
    int64_t count = product(extents).constant();
    DType dtype = accumulator_dtype(node);
    std::vector<NodeId> candidates;
    for (int64_t k = 0; k < count; ++k) {
      std::vector<Index> inner = nest_.space.unflatten(Index(k), extents);
      candidates.push_back(
          cast(dtype, evaluate(node.inputs[0], reduction_operand_index(node, index, inner))));
    }
    if (is_arg_reduction(node.op->reduce)) return unrolled_argmin(node, std::move(candidates));
    NodeId result = candidates[0];
    for (size_t k = 1; k < candidates.size(); ++k)
      result = apply(combine_prim(node.op->reduce), dtype, {result, candidates[k]});
    return result;
  }

  static Prim combine_prim(ReduceOp op) {
    switch (op) {
      case ReduceOp::Sum: return Prim::Add;
      case ReduceOp::Prod: return Prim::Mul;
      case ReduceOp::Min: return Prim::Min;
      case ReduceOp::Max: return Prim::Max;
      case ReduceOp::Any: return Prim::Or;
      default: return Prim::And;
    }
  }

  NodeId unrolled_argmin(const ir::Node& node, std::vector<NodeId> candidates) {
    bool through_root = true;
    for (NodeId& candidate : candidates) candidate = through(node, candidate);
    for (NodeId candidate : candidates) through_root = through_root && is_root_of_nonnegative(candidate);
    if (through_root)
      for (NodeId& candidate : candidates) candidate = nest_.node(candidate).args[0];
    NodeId best = candidates[0], best_index = constant(Scalar(0), DType::I64);
    for (size_t k = 1; k < candidates.size(); ++k) {
      KernelNode take;
      take.kind = KernelNode::Kind::Take;
      take.dtype = DType::Bool;
      take.args = {candidates[k], best};
      take.through_root = through_root;
      take.largest = node.op->reduce == ReduceOp::ArgMax;
      NodeId taken = apply(take);
      DType dtype = nest_.node(best).dtype;
      best_index = apply(Prim::Select, DType::I64,
                         {taken, constant(Scalar(static_cast<int64_t>(k)), DType::I64), best_index});
      if (k + 1 < candidates.size()) best = apply(Prim::Select, dtype, {taken, candidates[k], best});
    }
    return best_index;
  }

  // What argmin compares: the operand, or the function of it that a pass has put into the node.
  NodeId through(const ir::Node& node, NodeId operand) {
    if (!node.attrs.find("through")) return operand;
    WEFT_ASSERT(node.attrs.get<std::string>("through") == "sqrt", "argmin through an unknown function");
    DType dtype = node.inputs[0]->tensor().dtype;
    NodeId root = cast(dtype, apply(Prim::Sqrt, compute_dtype(dtype), {operand}));
    known_nonnegative_.insert(operand);
    return root;
  }

  // Squares can be compared in place of what sqrt gives, as long as near ties are decided on the roots.
  bool is_root_of_nonnegative(NodeId id) {
    const KernelNode& node = nest_.node(id);
    return node.kind == KernelNode::Kind::Apply && node.prim == Prim::Sqrt &&
           (node.dtype == DType::F32 || node.dtype == DType::F64) && is_nonnegative(node.args[0]);
  }

  // True if the value is at least zero, or NaN.
  bool is_nonnegative(NodeId id) {
    const KernelNode& node = nest_.node(id);
    if (known_nonnegative_.count(id)) return true;
    if (node.kind == KernelNode::Kind::Constant) return node.value.to_double() >= 0;
    if (node.kind == KernelNode::Kind::Reduced) {
      const Accumulator& accumulator =
          nest_.scope(node.loop).accumulators[static_cast<size_t>(node.accumulator)];
      return !is_arg_reduction(accumulator.op) && is_nonnegative(accumulator.operand);
    }
    if (node.kind != KernelNode::Kind::Apply) return false;
    switch (node.prim) {
      case Prim::Abs:
      case Prim::Sqrt:
      case Prim::Exp: return is_floating(node.dtype);
      case Prim::Mul:
        return node.args[0] == node.args[1] || (is_nonnegative(node.args[0]) && is_nonnegative(node.args[1]));
      case Prim::Add:
      case Prim::Min:
      case Prim::Div: return is_nonnegative(node.args[0]) && is_nonnegative(node.args[1]);
      case Prim::Cast: return is_floating(nest_.node(node.args[0]).dtype) && is_nonnegative(node.args[0]);
      default: return false;
    }
  }

  // Reductions (with loops of their own) that `value` is computed from.
  const std::set<const ir::Value*>& reductions_below(const ir::Value* value) {
    if (auto found = reductions_below_.find(value); found != reductions_below_.end()) return found->second;
    std::set<const ir::Value*> below;
    bool loaded = memory_.holds(value) && !inside_.count(value);
    if (!loaded && value->def) {
      if (value->def->op && value->def->op->kind == ops::OpKind::Reduction && !is_unrolled(*value->def))
        below.insert(value);
      for (const ir::Value* input : value->def->inputs) {
        if (!input) continue;
        const auto& more = reductions_below(input);
        below.insert(more.begin(), more.end());
      }
    }
    return reductions_below_[value] = std::move(below);
  }

  // Loop extents for a reduction: one flat loop where addresses allow it.
  std::vector<SymShape> reduction_loops(const ir::Node& node, const std::vector<Index>& index) {
    SymShape extents;
    for (size_t d : reduced_dims(node)) extents.push_back(node.inputs[0]->tensor().shape[d]);
    std::vector<SymShape> groups;
    for (const Sym& extent : extents) groups.push_back({extent});
    for (size_t g = groups.size(); g-- > 1;) {
      auto merged = groups;
      merged[g - 1].insert(merged[g - 1].end(), merged[g].begin(), merged[g].end());
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(g));
      IndexSpace trial = nest_.space;
      std::vector<Index> inner;
      for (const SymShape& part : merged) {
        int loop = trial.new_loop("r", product(part));
        for (const Index& i : trial.unflatten(IndexSpace::of(loop), part)) inner.push_back(i);
      }
      Walk walk(trial, memory_, &inside_);
      if (walk.run(node.inputs[0], reduction_operand_index(node, index, inner), {})) groups = merged;
    }
    return groups;
  }

  Scope::Kind reduction_kind(ScopeId base, const ir::Node& node) {
    if (nest_.vector_loop(base) >= 0) return Scope::Kind::Serial;
    constexpr int64_t kParallelFrom = 8192;
    Sym extent = reduction_extent(node);
    bool large = !extent.is_constant() || extent.constant() >= kParallelFrom;
    return base == 0 && large ? Scope::Kind::ParallelReduce : Scope::Kind::VectorReduce;
  }

  // A loop of `base` that runs over the same extents, where the reduction can be evaluated too: no loop may
  // come to need its own results, be it through other loops.
  ScopeId find_loop(ScopeId base, Scope::Kind kind, const std::vector<SymShape>& groups,
                    const ir::Value* value) {
    for (ScopeId id = 0; id < static_cast<ScopeId>(nest_.scopes.size()); ++id) {
      Scope& scope = nest_.scope(id);
      if (scope.parent != base || scope.kind != kind || scope.loops.size() != groups.size()) continue;
      bool same = true;
      for (size_t g = 0; g < groups.size(); ++g)
        same = same && sym_known_equal(nest_.space.atom(scope.loops[g]).extent, product(groups[g]));
      if (!same) continue;
      scope.hosted.push_back(value);
      std::set<ScopeId> seen;
      const bool cyclic = reaches(id, id, seen);
      nest_.scope(id).hosted.pop_back();
      if (!cyclic) return id;
    }
    return -1;
  }

  // True if a reduction of the loop `from` needs one of the loop `to`, of the same scope; directly or through
  // others.
  bool reaches(ScopeId from, ScopeId to, std::set<ScopeId>& seen) {
    if (!seen.insert(from).second) return false;
    for (ScopeId id = 0; id < static_cast<ScopeId>(nest_.scopes.size()); ++id) {
      if (nest_.scope(id).parent != nest_.scope(to).parent) continue;
      bool needed = false;
      for (const ir::Value* user : nest_.scope(from).hosted) {
        const auto& below = reductions_below(user->def->inputs[0]);
        for (const ir::Value* used : nest_.scope(id).hosted) needed = needed || below.count(used) != 0;
      }
      if (needed && (id == to || reaches(id, to, seen))) return true;
    }
    return false;
  }

  NodeId loop_reduction(const ir::Value* value, const ir::Node& node, const std::vector<Index>& index) {
    ScopeId base = scope_of(index);
    std::vector<SymShape> groups = reduction_loops(node, index);
    Scope::Kind kind = reduction_kind(base, node);
    ScopeId loop = find_loop(base, kind, groups, value);
    if (loop < 0) {
      Scope scope;
      scope.kind = kind;
      scope.lanes = kind == Scope::Kind::Serial ? 1 : 2;
      for (const SymShape& part : groups)
        scope.loops.push_back(
            nest_.space.new_loop(fmt::format("r{}", num_reduction_loops_++), product(part)));
      loop = add_scope(base, scope);
    }
    nest_.scope(loop).hosted.push_back(value);
    std::vector<Index> inner;
    Index flat;
    for (size_t g = 0; g < groups.size(); ++g) {
      int atom = nest_.scope(loop).loops[g];
      for (const Index& i : nest_.space.unflatten(IndexSpace::of(atom), groups[g])) inner.push_back(i);
      flat = nest_.space.add(nest_.space.scale(flat, nest_.space.atom(atom).extent), IndexSpace::of(atom));
    }
    NodeId operand =
        cast(accumulator_dtype(node), evaluate(node.inputs[0], reduction_operand_index(node, index, inner)));
    if (is_arg_reduction(node.op->reduce)) operand = through(node, operand);

    Accumulator accumulator{node.op->reduce, accumulator_dtype(node), operand, flat, false};
    if (is_arg_reduction(node.op->reduce) && is_root_of_nonnegative(operand)) {
      accumulator.operand = nest_.node(operand).args[0];
      accumulator.through_root = true;
    }
    KernelNode result;
    result.kind = KernelNode::Kind::Reduced;
    result.loop = loop;
    result.accumulator = static_cast<int>(nest_.scope(loop).accumulators.size());
    result.part = is_arg_reduction(node.op->reduce) ? 1 : 0;
    result.dtype = result.part == 1 ? DType::I64 : accumulator.dtype;
    result.scope = base;
    result.varying = kind == Scope::Kind::Serial && reduction_is_varying(operand, base);
    nest_.scope(loop).accumulators.push_back(accumulator);
    std::string key = fmt::format("reduced {} {}", loop, result.accumulator);
    return add_node(std::move(result), key);
  }

  bool reduction_is_varying(NodeId operand, ScopeId) { return nest_.node(operand).varying; }

  // ---- lanes -------------------------------------------------------------------------------------------
  // As many lanes as registers hold of the widest type computed with; reductions keep several registers
  // of partial results, so that additions overlap.
  void choose_lanes() {
    for (ScopeId id = 0; id < static_cast<ScopeId>(nest_.scopes.size()); ++id) {
      Scope& scope = nest_.scope(id);
      if (scope.lanes < 2) continue;
      int widest = 0, widest_any = 1;
      for (const KernelNode& node : nest_.nodes) {
        if (!node.varying || !nest_.encloses(id, node.scope)) continue;
        int size =
            node.kind == KernelNode::Kind::Load ? itemsize(node.dtype) : itemsize(compute_dtype(node.dtype));
        if (is_floating(node.dtype)) size = std::max(size, itemsize(compute_dtype(node.dtype)));
        widest_any = std::max(widest_any, size);
        bool bookkeeping =
            node.dtype == DType::I64 &&
            (node.kind == KernelNode::Kind::Reduced || node.kind == KernelNode::Kind::Position ||
             (node.kind == KernelNode::Kind::Apply && node.prim == Prim::Select));
        if (!bookkeeping && !(node.kind == KernelNode::Kind::Apply && node.prim == Prim::Cast))
          widest = std::max(widest, size);
      }
      if (widest == 0) widest = widest_any;
      scope.lanes = std::max(2, nest_.vector_bytes / widest);
      const int most_lanes = scope.is_reduction() ? 64 : 128;
      scope.lanes *= scope.is_reduction() ? reduction_registers(scope) : column_registers(id);
      scope.lanes = std::min(scope.lanes, most_lanes);
    }
  }

  // Large enough that nothing of it would be found in the caches later. Only stores that fill whole cache
  // lines, aligned, bypass the caches: one flat loop.
  bool writes_much() {
    constexpr int64_t kManyBytes = 16 << 20;
    if (innermost_ == 0 || nest_.scope(innermost_).kind != Scope::Kind::Vector) return false;
    if (!nest_.scope(nest_.scope(innermost_).parent).loops.empty()) return false;
    int64_t bytes = 0;
    for (const Store& store : nest_.scope(innermost_).stores) {
      const Buffer& buffer = nest_.buffers[static_cast<size_t>(store.buffer)];
      if (itemsize(buffer.dtype) * nest_.scope(innermost_).lanes % nest_.vector_bytes != 0) return false;
      bytes += buffer.count.hint() * itemsize(buffer.dtype);
    }
    return bytes >= kManyBytes;
  }

  // Per element of the innermost loops: what arithmetic and memory take, whichever is more.
  void estimate_cost() {
    double operations = 0, bytes = 0;
    constexpr double kLanes = 8;
    for (const KernelNode& node : nest_.nodes) {
      if (node.kind == KernelNode::Kind::Apply)
        operations += serial_length(node.scope) * (node.prim >= Prim::Exp ? 20.0 : 1.0) / kLanes;
      if (node.kind == KernelNode::Kind::Load) bytes += serial_length(node.scope) * itemsize(node.dtype);
    }
    for (ScopeId id = 0; id < static_cast<ScopeId>(nest_.scopes.size()); ++id) {
      const Scope& scope = nest_.scope(id);
      for (const Store& store : scope.stores)
        bytes += itemsize(nest_.buffers[static_cast<size_t>(store.buffer)].dtype);
      operations += serial_length(id) * static_cast<double>(scope.accumulators.size()) / kLanes;
    }
    constexpr double kNanosecondsPerOperation = 0.4, kNanosecondsPerByte = 0.05;
    nest_.cost_per_element = std::max(operations * kNanosecondsPerOperation, bytes * kNanosecondsPerByte);
  }

  // How often what is in the scope runs for each of its enclosing map loops' iterations.
  double serial_length(ScopeId id) const {
    double length = 1;
    for (; id >= 0; id = nest_.scope(id).parent) {
      if (nest_.scope(id).kind != Scope::Kind::Serial) continue;
      for (int loop : nest_.scope(id).loops)
        length *= static_cast<double>(std::max<int64_t>(1, nest_.space.atom(loop).extent.hint()));
    }
    return length;
  }

  // Reductions along outer dimensions read as much of each row as registers hold, in whole cache lines.
  int column_registers(ScopeId id) {
    constexpr int64_t kLong = 32;
    const Scope& scope = nest_.scope(id);
    size_t accumulators = 0;
    bool is_long = false;
    for (const Scope& inner : nest_.scopes) {
      if (inner.kind != Scope::Kind::Serial || inner.parent != id) continue;
      accumulators += inner.accumulators.size();
      is_long = is_long || nest_.space.atom(inner.loops.back()).extent.hint() >= kLong;
      for (const Accumulator& accumulator : inner.accumulators)
        if (is_arg_reduction(accumulator.op)) return 1;
    }
    if (!is_long || accumulators > 2) return 1;
    // As much as the columns need, and half of the registers hold.
    const int most = accumulators == 1 ? 8 : 4;
    const int64_t columns = nest_.space.atom(scope.loops[0]).extent.hint();
    int registers = 1;
    while (registers < most && registers * scope.lanes < columns) registers *= 2;
    // A row that twice as many hold is read from end to end, which memory likes best.
    constexpr int kWidest = 64;
    const bool whole =
        accumulators == 1 && nest_.vector_bytes == kWidest && columns <= 2 * registers * scope.lanes;
    return registers == most && whole ? 2 * registers : registers;
  }

  int reduction_registers(const Scope& scope) {
    constexpr int64_t kLong = 512;
    Sym extent = nest_.space.atom(scope.loops.back()).extent;
    return extent.hint() >= kLong && scope.accumulators.size() <= 4 ? 4 : 1;
  }

  int num_reduction_loops_ = 0;
  bool streamed_ = false;
};

}  // namespace

LoopNest lower(const FusionGroup& group, const Memory& memory, const LowerOptions& options) {
  Lowering lowering(group, memory, options);
  LoopNest nest = lowering.run();
  if (!lowering.spill_failed()) return nest;
  Lowering again(group, memory, options);
  again.forbid_spills();
  return again.run();
}

}  // namespace weft::codegen
