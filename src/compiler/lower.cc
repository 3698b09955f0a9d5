#include "compiler/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "compiler/kernel_names.h"
#include "compiler/nest_builder.h"
#include "compiler/outer_loops.h"
#include "nest/fusible.h"
#include "nest/views.h"
#include "scalar/split_complex.h"

namespace weft::compiler {

namespace {

using ops::ReduceOp;
using scalar::Prim;

class Lowering : NestBuilder {
 public:
  Lowering(const FusionGroup& group, const Memory& memory, const LowerOptions& options)
      : group_(group),
        memory_(memory),
        inside_(group.roots.begin(), group.roots.end()),
        reductions_(memory, inside_) {
    nest_.device = group.roots[0]->tensor().device;
    nest_.vector_bytes = options.vector_bytes;
    nest_.scopes.emplace_back();
    nest_.is_read_later = options.is_read_later;
  }

  // True if a value was to be kept in the result's memory, and no loop came by that could put it there.
  bool spill_failed() const { return spilled_ != nullptr && !spill_stored_; }
  void forbid_spills() { may_spill_ = false; }

  LoopNest run() {
    nest_.name = kernel_name(group_.roots, memory_);
    nest_.comments = kernel_comments(group_.roots, memory_);
    SymShape shape = group_.roots[0]->tensor().shape;
    OuterLoops outer = choose_outer_loops(group_, memory_, inside_, reductions_);
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
      nest_.buffers[static_cast<size_t>(buffer)].count =
          product(shape) * (is_complex(root->tensor().dtype) ? 2 : 1);
      if (written_out.empty()) {
        NodeId value = evaluate(root, index);
        nest_.scope(innermost_).stores.push_back(stored(root, buffer, index, value));
      } else {
        store_written_out(root, buffer, index, written_out[0], shape);
      }
    }
    nest_.innermost = innermost_;
    return std::move(nest_);
  }

 private:
  const FusionGroup& group_;
  const Memory& memory_;
  std::set<const ir::Value*> inside_;
  ReductionsBelow reductions_;
  ScopeId innermost_ = 0;
  std::map<const ir::Value*, int> buffer_ids_;
  const ir::Value* spilled_ = nullptr;
  bool may_spill_ = true, spill_stored_ = false;
  int num_reduction_loops_ = 0;

  Store stored(const ir::Value* root, int buffer, const std::vector<Index>& index, NodeId value) {
    const Index at = address(root, index);
    if (!is_complex(root->tensor().dtype)) return {buffer, at, value};
    return {buffer, nest_.space.scale(at, Sym(2)), part(value, 0), {part(value, 1)}};
  }

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
      if (is_complex(a.dtype) || value == root || !reduced.count(value) || a.dtype != b.dtype ||
          a.shape.size() != b.shape.size())
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

  // ---- loops, memory ----------------------------------------------------------------------------------
  std::vector<Index> make_outer_loops(const SymShape& shape, const OuterLoops& outer) {
    std::vector<int> loops;
    std::vector<Index> index = index_for(nest_.space, shape, outer, &loops);
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

  int buffer_of(const ir::Value* value) {
    auto [found, added] = buffer_ids_.try_emplace(value, static_cast<int>(nest_.buffers.size()));
    if (added) {
      Buffer buffer;
      buffer.value = value;
      buffer.dtype = real_dtype(value->tensor().dtype);
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
    const Index at = address(value, index);
    const DType dtype = value->tensor().dtype;
    if (!is_complex(dtype)) return load(value, at, dtype);
    const Index re = nest_.space.scale(at, Sym(2)), im = nest_.space.add(re, Index(1));
    return apply(Prim::MakeComplex, dtype,
                 {load(value, re, real_dtype(dtype)), load(value, im, real_dtype(dtype))});
  }

  NodeId load(const ir::Value* value, const Index& at, DType dtype) {
    KernelNode node;
    node.kind = KernelNode::Kind::Load;
    node.dtype = dtype;
    node.buffer = buffer_of(value);
    node.index = at;
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
    if (node.kind == ir::NodeKind::Constant) return number(node.constant.item(), value->tensor().dtype);
    if (is_index_view(node)) return evaluate(node.inputs[0], view_operand_index(nest_.space, node, index));
    if (is_rotation(node)) return evaluate(rotated_operand(node), rotated_index(nest_.space, node, index));
    switch (node.op->kind) {
      case ops::OpKind::Pointwise: return pointwise(node, index);
      case ops::OpKind::Creation: return creation(node, index);
      case ops::OpKind::Reduction: return reduction(value, node, index);
      default: break;
    }
    WEFT_ASSERT(false, std::string("not fusible: ") + std::string(node.kind_name()));
    return -1;
  }

  // Complex values are MakeComplex of their parts, which is in no code: what uses them takes the parts.
  NodeId part(NodeId complex, size_t which) {
    WEFT_ASSERT(nest_.node(complex).prim == Prim::MakeComplex, "a complex value without parts");
    return nest_.node(complex).args[which];
  }
  NodeId number(Scalar value, DType dtype) {
    if (!is_complex(dtype)) return constant(value, dtype);
    const DType real = real_dtype(dtype);
    const std::complex<double> parts = value.to_complex();
    return apply(Prim::MakeComplex, dtype,
                 {constant(Scalar(parts.real()), real), constant(Scalar(parts.imag()), real)});
  }

  NodeId creation(const ir::Node& node, const std::vector<Index>& index) {
    DType dtype = node.output()->tensor().dtype;
    if (node.is("full")) return number(creation_scalar(node, "value"), dtype);
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
    scalar::Expr expression = scalar::split_complex(node.op->semantics(args, node.attrs));
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
    } else if (node.prim == Prim::Real || node.prim == Prim::Imag) {
      result = part(translate(node.args[0], operands, done), node.prim == Prim::Real ? 0 : 1);
    } else {
      std::vector<NodeId> args;
      for (const scalar::Expr& arg : node.args) args.push_back(translate(arg, operands, done));
      result = node.prim == Prim::Cast ? cast(node.dtype, args[0]) : apply(node.prim, node.dtype, args);
    }
    return done[expression.get()] = result;
  }

  // ---- reductions --------------------------------------------------------------------------------------
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
    // Sums start from 0.0: those of nothing but -0.0 are 0.0.
    const bool may_be_negative_zero = node.op->reduce == ReduceOp::Sum && is_inexact(dtype) &&
                                      std::none_of(candidates.begin(), candidates.end(),
                                                   [&](NodeId id) { return is_square_or_magnitude(id); });
    return may_be_negative_zero ? apply(Prim::Add, dtype, {result, constant(Scalar(0.0), dtype)}) : result;
  }

  bool is_square_or_magnitude(NodeId id) const {
    const KernelNode& node = nest_.node(id);
    if (node.kind != KernelNode::Kind::Apply) return false;
    return node.prim == Prim::Abs || (node.prim == Prim::Mul && node.args[0] == node.args[1]);
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

  // The reduced dimensions as loops go over them, by their number among them: what lies closest together in
  // memory innermost. Where loads disagree, or the first of equals counts, they are as they come.
  std::vector<size_t> reduction_order(const ir::Node& node, const std::vector<Index>& index) {
    const std::vector<size_t> dims = reduced_dims(node);
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    if (dims.size() < 2 || is_arg_reduction(node.op->reduce)) return order;
    IndexSpace trial = nest_.space;
    std::vector<int> loops;
    std::vector<Index> inner;
    for (size_t d : dims) {
      loops.push_back(trial.new_loop("r", node.inputs[0]->tensor().shape[d]));
      inner.push_back(IndexSpace::of(loops.back()));
    }
    Walk walk(trial, memory_, &inside_);
    walk.run(node.inputs[0], reduction_operand_index(node, index, inner), {});
    const auto step = [&](const Visit& visit, size_t k) {
      for (const auto& [atom, coefficient] : visit.address.terms)
        if (atom == loops[k]) return std::abs(coefficient.hint());
      return int64_t{0};
    };
    for (size_t i = 1; i < order.size(); ++i) {
      for (size_t j = i; j > 0; --j) {
        bool farther = false, nearer = false;
        for (const Visit& visit : walk.visits) {
          if (visit.is_reduction) continue;
          const int64_t a = step(visit, order[j - 1]), b = step(visit, order[j]);
          if (a != 0 && b != 0) (b > a ? farther : nearer) = true;
        }
        if (nearer || !farther) break;
        std::swap(order[j - 1], order[j]);
      }
    }
    return order;
  }

  // The same, in the order of the dimensions.
  static std::vector<Index> in_dimension_order(const std::vector<Index>& inner,
                                               const std::vector<size_t>& order) {
    std::vector<Index> result(inner.size());
    for (size_t i = 0; i < inner.size(); ++i) result[order[i]] = inner[i];
    return result;
  }

  // Loop extents for a reduction: one flat loop where addresses allow it.
  std::vector<SymShape> reduction_loops(const ir::Node& node, const std::vector<Index>& index,
                                        const std::vector<size_t>& order) {
    const std::vector<size_t> dims = reduced_dims(node);
    std::vector<SymShape> groups;
    for (size_t k : order) groups.push_back({node.inputs[0]->tensor().shape[dims[k]]});
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
      inner = in_dimension_order(inner, order);
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
        const auto& below = reductions_.of(user->def->inputs[0]);
        for (const ir::Value* used : nest_.scope(id).hosted) needed = needed || below.count(used) != 0;
      }
      if (needed && (id == to || reaches(id, to, seen))) return true;
    }
    return false;
  }

  NodeId loop_reduction(const ir::Value* value, const ir::Node& node, const std::vector<Index>& index) {
    ScopeId base = scope_of(index);
    const std::vector<size_t> order = reduction_order(node, index);
    std::vector<SymShape> groups = reduction_loops(node, index, order);
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
    inner = in_dimension_order(inner, order);
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
    result.varying = kind == Scope::Kind::Serial && nest_.node(operand).varying;
    nest_.scope(loop).accumulators.push_back(accumulator);
    std::string key = fmt::format("reduced {} {}", loop, result.accumulator);
    return add_node(std::move(result), key);
  }
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

}  // namespace weft::compiler
