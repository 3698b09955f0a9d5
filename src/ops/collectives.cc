// Collectives of the process group (weft/distributed.h) as operators, and so as nodes of graphs. All ranks
// must make them in one order: in graphs they keep it, are never merged or dropped, as operators that draw
// random numbers.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "distributed/group.h"
#include "ops/arguments.h"
#include "ops/effects.h"
#include "ops/registry.h"
#include "weft/distributed.h"
#include "weft/error.h"

namespace weft::ops {
namespace {

using Tensors = std::vector<Tensor>;
using ResultTypes = std::vector<TensorType>;

distributed::ReduceOp reduction_of(const Attrs& attrs) {
  return distributed::reduce_op_from_name(attrs.get<std::string>("op"));
}

// `ranks` is the number that a graph was made for.
void check_ranks(const OpDef& op, const Attrs& attrs) {
  const int64_t expected = int_arg(attrs, "ranks"), ranks = distributed::get_world_size();
  WEFT_CHECK(expected == ranks,
             fmt::format("{}: made for {} ranks, and there are {}", op.name, expected, ranks));
}

void check_dims(const OpDef& op, std::span<const TensorType> operands) {
  WEFT_CHECK(!operands[0].shape.empty(),
             fmt::format("{}: expected at least one dimension, got {}", op.name, operands[0].str()));
}

ResultTypes infer_collective(const OpDef&, std::span<const TensorType> operands, const Attrs& attrs) {
  if (attrs.find("op")) reduction_of(attrs);
  return {operands[0]};
}
ResultTypes infer_gathered(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_dims(op, operands);
  TensorType type = operands[0];
  type.shape[0] = type.shape[0] * Sym(int_arg(attrs, "ranks"));
  return {type};
}
ResultTypes infer_scattered(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_dims(op, operands);
  reduction_of(attrs);
  const Sym ranks(int_arg(attrs, "ranks"));
  TensorType type = operands[0];
  WEFT_CHECK(sym_eq(floor_mod(type.shape[0], ranks), Sym(0)),
             fmt::format("{}: the first dimension must be a multiple of {} ranks, got {}", op.name,
                         ranks.str(), operands[0].str()));
  type.shape[0] = floor_div(type.shape[0], ranks);
  return {type};
}

class BegunCollective final : public BegunCall {
 public:
  explicit BegunCollective(std::unique_ptr<distributed::Begun> begun) : begun_(std::move(begun)) {}
  void advance() override { begun_->advance(); }
  Tensors wait() override { return {begun_->wait()}; }

 private:
  std::unique_ptr<distributed::Begun> begun_;
};

void define(const char* name, const char* schema, const char* doc, InferFn infer, EagerFn eager,
            BeginFn begin) {
  OpDef def;
  def.name = name;
  def.schema = schema;
  def.kind = OpKind::Kernel;
  def.doc = fmt::format(
      "{}{}\n{}\nA call of all ranks of the process group (weft.distributed), in one order.\n"
      "raises: RuntimeError without a group, for ranks whose calls differ, and after the group's timeout.",
      name, schema, doc);
  def.infer = std::move(infer);
  def.eager = std::move(eager);
  def.begin = std::move(begin);
  declare_draws(register_op(std::move(def)));
}

using Operands = std::span<const Tensor>;
std::unique_ptr<BegunCall> begun(std::unique_ptr<distributed::Begun> collective) {
  return std::make_unique<BegunCollective>(std::move(collective));
}

[[maybe_unused]] const bool kCollectivesDefined = [] {
  define(
      "_all_reduce", "(Tensor x, str op='sum') -> Tensor",
      "The ranks' x[*S] added up, or their product, min or max; the same on all ranks.", infer_collective,
      [](const OpDef&, Operands operands, const Attrs& attrs) -> Tensors {
        return {distributed::all_reduce(operands[0], reduction_of(attrs))};
      },
      [](const OpDef&, Operands operands, const Attrs& attrs) {
        return begun(distributed::begin_all_reduce(operands[0], reduction_of(attrs)));
      });
  define(
      "_all_gather", "(Tensor x, int ranks) -> Tensor",
      "[ranks * n, ...] of the ranks' x[n, ...], in the order of the ranks.", infer_gathered,
      [](const OpDef& op, Operands operands, const Attrs& attrs) -> Tensors {
        check_ranks(op, attrs);
        return {distributed::all_gather(operands[0])};
      },
      [](const OpDef& op, Operands operands, const Attrs& attrs) {
        check_ranks(op, attrs);
        return begun(distributed::begin_all_gather(operands[0]));
      });
  define(
      "_reduce_scatter", "(Tensor x, int ranks, str op='sum') -> Tensor",
      "This rank's [n, ...] of the ranks' x[ranks * n, ...], added up, or their product, min or max.",
      infer_scattered,
      [](const OpDef& op, Operands operands, const Attrs& attrs) -> Tensors {
        check_ranks(op, attrs);
        return {distributed::reduce_scatter(operands[0], reduction_of(attrs))};
      },
      [](const OpDef& op, Operands operands, const Attrs& attrs) {
        check_ranks(op, attrs);
        return begun(distributed::begin_reduce_scatter(operands[0], reduction_of(attrs)));
      });
  define(
      "_broadcast", "(Tensor x, int root=0) -> Tensor", "The x[*S] of rank `root`, on all ranks.",
      infer_collective,
      [](const OpDef&, Operands operands, const Attrs& attrs) -> Tensors {
        return {distributed::broadcast(operands[0], static_cast<int>(int_arg(attrs, "root")))};
      },
      [](const OpDef&, Operands operands, const Attrs& attrs) {
        return begun(distributed::begin_broadcast(operands[0], static_cast<int>(int_arg(attrs, "root"))));
      });
  return true;
}();

}  // namespace
}  // namespace weft::ops
