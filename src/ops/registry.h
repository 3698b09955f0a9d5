// The operator table: one definition per operator, from which the eager call, the graph node, the Python
// binding, the documentation and the tests come.
//
// Two levels:
//   * strict   call(op, args): operands already have the dtypes the kernel wants (pointwise operators: one
//              common dtype; broadcasting is implicit). This is what graphs contain.
//   * promoted invoke(op, operands, rules): operands are tensors or Python-like scalars; dtype promotion
//              (PyTorch's or NumPy's) inserts casts, then the strict call is made.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/attrs.h"
#include "scalar/expr.h"
#include "weft/tensor.h"

namespace weft::ops {

enum class OpKind : uint8_t {
  Pointwise,  // output element depends on the same element of the operands; `semantics` says how
  Reduction,  // one of ReduceOp over `dim` (list of ints), `keepdim`
  View,       // shares the operand's storage
  Creation,   // no tensor operands
  Composite,  // written over other operators; never a graph node
  Kernel,     // has its own kernel: matmul, sort, gather, …
};

enum class ReduceOp : uint8_t { None, Sum, Prod, Min, Max, ArgMin, ArgMax, Any, All };

// How a pointwise operator's computation and result dtypes follow from the promoted operand dtype.
enum class DTypeRule : uint8_t {
  Same,         // result = promoted dtype
  FloatOnly,    // integers and bool become floating: PyTorch's default dtype, or NumPy's per-width rule
  Bool,         // comparisons, predicates
  IntegerOnly,  // bool and integers; TypeError otherwise
  Real,         // |z|, real part: complex gives its real type
};

struct Param {
  enum class Type : uint8_t { Tensor, TensorList, Bool, Int, Float, Scalar, String, DType, Device, IntList };
  std::string name;
  Type type;
  bool optional = false;  // may be None
  bool keyword_only = false;
  bool has_default = false;
  Attr default_value;
  int64_t list_length = -1;  // of a TensorList: how many tensors, or -1 where the call decides

  bool is_tensor() const { return type == Type::Tensor || type == Type::TensorList; }
  // How many operands of the flattened list it takes; -1 where the call decides.
  int64_t num_operands() const {
    return type == Type::TensorList ? list_length : type == Type::Tensor ? 1 : 0;
  }
};

struct OpDef;
class BuiltLoops;  // ops/built_loops.h

// What a pointwise operator runs eagerly (ops/pointwise.h).
class Params;
// Computes `count` elements: operands and result contiguous, in the computation's dtypes.
using LoopFunction = void (*)(void* out, const void* const* operands, int64_t count, const Params& params);
// By computation dtype; null where the operator is not defined. f16 and bf16 use the f32 loop.
using LoopTable = std::array<LoopFunction, kNumDTypes>;

// Operands of a strict call. Tensors are in schema order, a TensorList flattened in its place; an absent
// optional tensor is an undefined Tensor. At most one list of a schema has no fixed length, and no optional
// tensor comes with it.
struct OpArgs {
  std::vector<Tensor> tensors;
  Attrs attrs;
  Promotion rules = Promotion::Torch;  // for composites that promote inside
};

// Checks the operands (errors are the user's) and gives the result types. An eager function runs only after
// its inference has passed.
using InferFn =
    std::function<std::vector<TensorType>(const OpDef&, std::span<const TensorType> operands, const Attrs&)>;
using EagerFn =
    std::function<std::vector<Tensor>(const OpDef&, std::span<const Tensor> operands, const Attrs&)>;
using SemanticsFn = std::function<scalar::Expr(std::span<const scalar::Expr> operands, const Attrs&)>;
// What repeated calls need to do once. `constants`: the operands that are the same at every call; undefined
// ones are not known yet. The result takes all operands and does the rest; null where nothing would be
// gained.
using PreparedFn = std::function<std::vector<Tensor>(std::span<const Tensor> operands)>;
using PrepareFn = std::function<PreparedFn(const OpDef&, std::span<const Tensor> constants, const Attrs&)>;
// A call that has been begun and goes on by itself, beside what else the program does.
class BegunCall {
 public:
  virtual ~BegunCall() = default;
  // Moves it on; never waits.
  virtual void advance() = 0;
  // Once: the results, or the errors of the whole call.
  virtual std::vector<Tensor> wait() = 0;
};
using BeginFn =
    std::function<std::unique_ptr<BegunCall>(const OpDef&, std::span<const Tensor> operands, const Attrs&)>;
using CompositeFn = std::function<std::vector<Tensor>(const OpDef&, const OpArgs&)>;

// Largest error in units in the last place of the result, against the reference computed in float64
// (or exactly). 0 means bit-equal.
struct ErrorBound {
  double f32 = 0, f64 = 0;
};

// A set of dtypes, as bits 1 << DType.
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_bit(DType d) { return DTypeSet{1} << static_cast<int>(d); }
inline constexpr DTypeSet kBool = dtype_bit(DType::Bool);
inline constexpr DTypeSet kIntegers = 0x1fe;
inline constexpr DTypeSet kFloats =
    dtype_bit(DType::F16) | dtype_bit(DType::BF16) | dtype_bit(DType::F32) | dtype_bit(DType::F64);
inline constexpr DTypeSet kComplex = dtype_bit(DType::C64) | dtype_bit(DType::C128);
inline constexpr DTypeSet kReal = kIntegers | kFloats;  // ordered numbers, bool excluded
inline constexpr DTypeSet kNumbers = kReal | kComplex;
inline constexpr DTypeSet kAllDTypes = kBool | kNumbers;
std::string str(DTypeSet set);  // "bool, integers, floating"

struct OpDef {
  std::string name = {};
  std::string schema = {};  // "(Tensor x, int dim, bool keepdim=False) -> Tensor"
  OpKind kind = OpKind::Kernel;
  DTypeRule dtype_rule = DTypeRule::Same;
  ReduceOp reduce = ReduceOp::None;
  DTypeSet dtypes = kAllDTypes;  // what strict operands may have (pointwise: the computation's dtype)
  // A composite over pointwise operators that `invoke` may call: its operands are promoted to one dtype.
  bool promotes = false;
  // NumPy's rules: bool operands of an operator without a bool loop become int8. Where false, TypeError.
  bool numpy_bool_is_int8 = false;
  std::string doc = {};    // docstring as STYLE says: shapes, dtypes, error, raises, source
  std::string numpy = {};  // reference as a Python expression over the schema's parameter names; "" if none
  ErrorBound error = {};
  // Domain of sample inputs for the generated tests: [low, high] for every tensor operand.
  double sample_low = -3, sample_high = 3;
  std::vector<std::string> aliases = {};  // other names in the operator table
  std::vector<std::string> methods = {};  // also a Tensor method under these names ("" = the same name)

  InferFn infer = nullptr;
  EagerFn eager = nullptr;
  SemanticsFn semantics = nullptr;
  CompositeFn composite = nullptr;
  const LoopTable* loops = nullptr;                        // Pointwise
  std::shared_ptr<const Params> default_params = nullptr;  // Pointwise: null where a parameter has no default
  std::shared_ptr<const BuiltLoops> built = nullptr;       // Pointwise with default parameters: faster loops
  PrepareFn prepare = nullptr;
  // What waits for others: `eager` in two parts. Operands keep what they hold until the call has been waited
  // for.
  BeginFn begin = nullptr;
  // Where the result's memory is not always in C order: its dimensions from the one that lies widest to the
  // one that lies densest, by the operands of an eager or traced call; empty: C order. `call` gives it to
  // `eager`, and to nodes, as the attribute "memory_order" (ops/memory_order.h).
  std::vector<int64_t> (*result_order)(std::span<const Tensor> operands) = nullptr;

  std::vector<Param> params = {};  // parsed from schema at registration
  int num_outputs = 1;             // -1: a list of tensors, whose length the operands decide
  const Param* find_param(std::string_view param) const;
};

// Adds to the table (during static initialization of the family files). Asserts a well-formed schema.
const OpDef& register_op(OpDef def);
const OpDef* find_op(std::string_view name);
const OpDef& get_op(std::string_view name);  // internal error when absent
const std::map<std::string, const OpDef*, std::less<>>& all_ops();

// ---- strict calls ----------------------------------------------------------------------------------------
// Checks, infers, then runs the eager kernel; or records a node when the operands are traced.
// Composites run their body. Errors name the operator and describe every operand.
std::vector<Tensor> call(const OpDef& op, OpArgs args);
Tensor call1(std::string_view op, std::vector<Tensor> tensors, Attrs attrs = {});
std::vector<TensorType> infer(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs);

// True where a traced operand (or a creation operator under an active tracer) makes the call a graph node.
bool is_recorded(const OpDef& op, std::span<const Tensor> tensors);
// "\n  x: f32[8, 64] cpu   y: …": the operands as error messages show them.
std::string describe_operands(const OpDef& op, std::span<const TensorType> operands);

// ---- promoted calls --------------------------------------------------------------------------------------
using Operand = std::variant<Tensor, Scalar>;
// For pointwise operators and composites over them: promotes all operands to one dtype, casts, calls.
// A Scalar operand is weak; an undefined Tensor is an absent optional operand.
Tensor invoke(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, Promotion rules);
Tensor invoke(std::string_view op, std::initializer_list<Operand> operands,
              Promotion rules = Promotion::Torch);
// The dtypes `invoke` would use: computation (all operands are cast to it) and result.
struct PromotedTypes {
  DType compute, result;
};
PromotedTypes promoted_types(const OpDef& op, std::span<const Operand> operands, Promotion rules);

// ---- shapes ----------------------------------------------------------------------------------------------
TensorType type_of(const Tensor& tensor);  // symbolic sizes for a traced tensor
SymShape sym_shape(const Tensor& tensor);
SymShape broadcast_shapes(std::string_view op, std::span<const SymShape> shapes);  // ValueError
// Axes of a reduction from its `dim` attribute: sorted, in [0, ndim); every axis for None or an empty list.
std::vector<int64_t> reduction_axes(std::string_view op, const Attrs& attrs, int64_t ndim);
int64_t normalize_dim(std::string_view op, int64_t dim, int64_t ndim);  // IndexError

}  // namespace weft::ops
