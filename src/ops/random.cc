#include "ops/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/memory_limit.h"
#include "kernels/cpu/random.h"
#include "ops/arguments.h"
#include "ops/build.h"
#include "ops/effects.h"
#include "ops/tracer.h"
#include "weft/generator.h"

// Each operator draws from a generator, which its first operand names: calls keep their order, in graphs too.
namespace weft::ops {
namespace {

using kernels::RandomState;
using Tensors = std::vector<Tensor>;
using ResultTypes = std::vector<TensorType>;

[[noreturn]] void refuse(std::string message) { throw_error(ErrorKind::Runtime, std::move(message)); }

void check_generator(const OpDef& op, const TensorType& handle) {
  WEFT_CHECK_TYPE(
      handle.dtype == DType::I64 && handle.shape.empty(),
      fmt::format("{}: generator: expected the handle of a Generator, got {}", op.name, handle.str()));
}

// ---- numbers of a shape -----------------------------------------------------------------------------------
void check_floating(const OpDef& op, DTypeSet allowed, DType dtype, ErrorKind kind) {
  if (dtype_bit(dtype) & allowed) return;
  throw_error(kind,
              fmt::format("{}: not implemented for {}; expected {}", op.name, name(dtype), str(allowed)));
}

// How a distribution's parameters are checked and its numbers drawn.
struct Distribution {
  const char* name;
  const char* params;  // of the schema
  const char* doc;
  DTypeSet dtypes;
  ErrorKind wrong_dtype;
  void (*check)(const OpDef&, const Attrs&);
  void (*draw)(RandomState&, const Tensor&, const Attrs&);
};

void check_positive(const OpDef& op, const Attrs& attrs, const char* param) {
  const double value = float_arg(attrs, param);
  if (!(value > 0)) refuse(fmt::format("{}: expected {} > 0, got {}", op.name, param, value));
}

void check_uniform(const OpDef& op, const Attrs& attrs) {
  const double low = float_arg(attrs, "low"), high = float_arg(attrs, "high");
  if (!(low <= high))
    refuse(fmt::format("{}: expected a range [low, high), got low={} > high={}", op.name, low, high));
  const DType dtype = attrs.get<DType>("dtype");
  const double largest = dtype == DType::F64 || dtype == DType::C128 ? std::numeric_limits<double>::max()
                         : dtype == DType::F16                       ? 65504.0
                         : dtype == DType::BF16                      ? 3.3895313892515355e38
                                                                     : std::numeric_limits<float>::max();
  if (!(std::fabs(low) <= largest) || !(std::fabs(high) <= largest) || !(high - low <= largest))
    refuse(fmt::format("{}: the range [{}, {}) does not fit into {}", op.name, low, high, weft::name(dtype)));
}

void check_normal(const OpDef& op, const Attrs& attrs) {
  const double deviation = float_arg(attrs, "std");
  if (!(deviation >= 0)) refuse(fmt::format("{}: expected std >= 0.0, got std {}", op.name, deviation));
}

void check_bernoulli(const OpDef& op, const Attrs& attrs) {
  const double p = float_arg(attrs, "p");
  if (!(p >= 0 && p <= 1)) refuse(fmt::format("{}: expected p to be in [0, 1], got {}", op.name, p));
}

void check_geometric(const OpDef& op, const Attrs& attrs) {
  const double p = float_arg(attrs, "p");
  if (!(p > 0 && p < 1)) refuse(fmt::format("{}: expected p to be in (0, 1), got {}", op.name, p));
}

constexpr DTypeSet kWide = dtype_bit(DType::U16) | dtype_bit(DType::U32) | dtype_bit(DType::U64);
constexpr DTypeSet kNarrow =
    kReal & ~kWide;  // without the unsigned integers that PyTorch has few operators of
constexpr DTypeSet kRealOrBool = kReal | kBool;
constexpr std::initializer_list<Distribution> kDistributions = {
    {"random_uniform", "float low=0.0, float high=1.0", "Numbers of [low, high), each as probable.",
     kFloats | kComplex, ErrorKind::NotImplemented, check_uniform,
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_uniform(state, out, float_arg(attrs, "low"), float_arg(attrs, "high"));
     }},
    {"random_normal", "float mean=0.0, float std=1.0, bool blocks=True",
     "Normal numbers. blocks: sixteen and more are made in blocks of sixteen.", kFloats | kComplex,
     ErrorKind::NotImplemented, check_normal,
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_normal(state, out, float_arg(attrs, "mean"), float_arg(attrs, "std"),
                              attrs.get_bool("blocks"));
     }},
    {"random_bernoulli", "float p=0.5", "Ones with probability p, else zeros.", kNarrow | kBool,
     ErrorKind::NotImplemented, check_bernoulli,
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_bernoulli(state, out, float_arg(attrs, "p"));
     }},
    {"random_exponential", "float lambd=1.0", "Exponential numbers of rate lambd.", kFloats,
     ErrorKind::Runtime, [](const OpDef& op, const Attrs& attrs) { check_positive(op, attrs, "lambd"); },
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_exponential(state, out, float_arg(attrs, "lambd"));
     }},
    {"random_cauchy", "float median=0.0, float sigma=1.0", "Numbers of Cauchy's distribution.", kFloats,
     ErrorKind::Runtime, [](const OpDef& op, const Attrs& attrs) { check_positive(op, attrs, "sigma"); },
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_cauchy(state, out, float_arg(attrs, "median"), float_arg(attrs, "sigma"));
     }},
    {"random_log_normal", "float mean=1.0, float std=2.0", "Numbers whose logarithms are normal.", kFloats,
     ErrorKind::NotImplemented, [](const OpDef& op, const Attrs& attrs) { check_positive(op, attrs, "std"); },
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_log_normal(state, out, float_arg(attrs, "mean"), float_arg(attrs, "std"));
     }},
    {"random_geometric", "float p=0.5", "How many trials of probability p the first success takes.", kNarrow,
     ErrorKind::NotImplemented, check_geometric,
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       kernels::random_geometric(state, out, float_arg(attrs, "p"));
     }},
    {"random_integers", "int low, int high",
     "Integers of [low, high), each as probable; where the two are equal, of all numbers of 64 bits.",
     kRealOrBool, ErrorKind::NotImplemented, [](const OpDef&, const Attrs&) {},
     [](RandomState& state, const Tensor& out, const Attrs& attrs) {
       const int64_t low = int_arg(attrs, "low");
       kernels::random_integers(state, out, low,
                                static_cast<uint64_t>(int_arg(attrs, "high")) - static_cast<uint64_t>(low));
     }},
    {"random_words", "",
     "Any number of the dtype that is not negative; of floating-point ones, the integers that it has without "
     "gaps.",
     kNarrow | kBool, ErrorKind::NotImplemented, [](const OpDef&, const Attrs&) {},
     [](RandomState& state, const Tensor& out, const Attrs&) { kernels::random_words(state, out); }},
};

const Distribution& distribution_of(const OpDef& op) {
  return *std::find_if(kDistributions.begin(), kDistributions.end(),
                       [&](const Distribution& each) { return op.name == each.name; });
}

ResultTypes infer_distribution(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_generator(op, operands[0]);
  const Distribution& distribution = distribution_of(op);
  const DType dtype = attrs.get<DType>("dtype");
  check_floating(op, distribution.dtypes, dtype, distribution.wrong_dtype);
  distribution.check(op, attrs);
  const SymShape shape = list_arg(attrs, "shape");
  for (const Sym& size : shape)
    if (!sym_ge(size, Sym(0)))
      refuse(fmt::format("{}: sizes must not be negative: got {}", op.name, weft::str(shape)));
  return {{dtype, shape, operands[0].device}};
}

Tensors draw_distribution(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  Shape shape;
  for (const Sym& size : list_arg(attrs, "shape")) shape.push_back(size.constant());
  const Tensor out = Tensor::empty(shape, attrs.get<DType>("dtype"));
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    distribution_of(op).draw(state, out, attrs);
  });
  return {out};
}

// The dimensions of a tensor without gaps in the order of its memory, the outermost first; in their own order
// otherwise.
std::vector<int64_t> memory_order(const Tensor& like) {
  const Shape& shape = like.impl()->shape;
  const Strides& strides = like.impl()->strides;
  std::vector<int64_t> dims(shape.size()), sorted;
  std::iota(dims.begin(), dims.end(), 0);
  const auto at = [](const auto& list, int64_t d) { return list[static_cast<size_t>(d)]; };
  // Dimensions of one element stay where they are.
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(sorted),
               [&](int64_t d) { return at(shape, d) != 1; });
  std::sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    return at(strides, a) != at(strides, b) ? at(strides, a) > at(strides, b) : a < b;
  });
  size_t next = 0;
  for (int64_t& d : dims)
    if (at(shape, d) != 1) d = sorted[next++];
  return dims;
}

// Numbers in the order of the memory of `like`, in its shape.
Tensors draw_like(const OpDef& op, const OpArgs& args) {
  const Tensor& like = args.tensors[1];
  const std::string name = op.name.substr(0, op.name.size() - std::string_view("_like").size());
  OpArgs plain{{args.tensors[0]}, {}, args.rules};
  for (const Param& param : get_op(name).params)
    if (const Attr* const value = args.attrs.find(param.name)) plain.attrs.set(param.name, *value);
  if (args.attrs.is_none("dtype")) plain.attrs.set("dtype", like.dtype());
  const bool is_elsewhere = like.device() != Device();
  if (is_elsewhere && !like.is_traced() && like.device().type == DeviceType::Meta)  // nothing is drawn
    return {Tensor::empty(like.shape(), plain.attrs.get<DType>("dtype"), like.device())};
  const SymShape shape = sym_shape(like);
  const std::vector<int64_t> order = memory_order(like);
  SymShape ordered;
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    ordered.push_back(shape[static_cast<size_t>(order[i])]);
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  plain.attrs.set("shape", ordered);
  const bool turned = !std::is_sorted(order.begin(), order.end());
  if (name == "random_normal") {
    const bool dense =
        like.is_traced() ? like.strides() == contiguous_strides(like.impl()->shape) : like.is_contiguous();
    plain.attrs.set("blocks", !turned && (dense || !args.attrs.get_bool("in_place")));
  }
  const Tensor drawn = call(get_op(name), std::move(plain)).at(0);
  const Tensor result = turned ? build::permute(drawn, back) : drawn;
  return {is_elsewhere && result.device() != like.device() ? result.to(like.device()) : result};
}

OpDef kernel(std::string name, std::string schema, std::string doc, InferFn infer, EagerFn eager) {
  OpDef def;
  def.name = std::move(name);
  def.schema = std::move(schema);
  def.kind = OpKind::Kernel;
  def.doc =
      def.name + def.schema + "\n" + std::move(doc) +
      "\ngenerator: the handle of a Generator, which the call changes: calls keep their order.\n"
      "raises: RuntimeError for parameters outside of the distribution's.\n"
      "source: PyTorch's streams on the CPU, over the Mersenne twister of Matsumoto and Nishimura 1998.";
  def.infer = std::move(infer);
  def.eager = std::move(eager);
  return def;
}

[[maybe_unused]] const bool kOfShape = [] {
  for (const Distribution& each : kDistributions) {
    const std::string params = *each.params ? fmt::format(", {}", each.params) : "";
    declare_draws(register_op(
        kernel(each.name, fmt::format("(Tensor generator, int[] shape{}, *, dtype dtype) -> Tensor", params),
               each.doc, infer_distribution, draw_distribution)));
    // Blocks are made where the numbers lie one behind the other: in `like` itself, if it is filled in place.
    const bool is_normal = std::string_view(each.name) == "random_normal";
    const std::string name = fmt::format("{}_like", each.name),
                      schema = fmt::format(
                          "(Tensor generator, Tensor like{}, *, dtype? dtype=None) -> Tensor",
                          is_normal ? ", float mean=0.0, float std=1.0, bool in_place=False" : params),
                      doc = fmt::format("{}{}\n{}\nIn the shape of `like`, in the order of its memory.", name,
                                        schema, each.doc);
    define_composite(name.c_str(), schema.c_str(), doc.c_str(), "", draw_like);
  }
  return true;
}();

// ---- permutations -----------------------------------------------------------------------------------------
ResultTypes infer_permutation(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_generator(op, operands[0]);
  const Sym size = sym_arg(attrs, "n");
  if (!sym_ge(size, Sym(0))) refuse(fmt::format("{}: n must not be negative: got {}", op.name, size.str()));
  return {{DType::I64, {size}, operands[0].device}};
}

Tensors draw_permutation(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const int64_t size = int_arg(attrs, "n");
  check_fits_memory(op.name, {size}, DType::I64);
  const Tensor out = Tensor::empty({size}, DType::I64);
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    kernels::random_permutation(state, out);
  });
  return {out};
}

// ---- numbers whose distributions are operands -------------------------------------------------------------
ResultTypes infer_elements(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_generator(op, operands[0]);
  const TensorType& x = operands[1];
  check_floating(op, kFloats, x.dtype, ErrorKind::NotImplemented);
  const bool has_dtype = op.find_param("dtype") != nullptr;
  const DType dtype = has_dtype ? dtype_arg(attrs).value_or(x.dtype) : x.dtype;
  check_floating(op, kNarrow | kBool, dtype, ErrorKind::NotImplemented);
  return {{dtype, x.shape, x.device}};
}

template <class Draw>
EagerFn eager_elements(Draw draw) {
  return [draw](const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) -> Tensors {
    const Tensor x = operands[1].contiguous();
    const Tensor out =
        Tensor::empty(x.shape(), attrs.find("dtype") ? dtype_arg(attrs).value_or(x.dtype()) : x.dtype());
    Generator::of_handle(operands[0]).draw([&](RandomState& state) { draw(state, out, x, attrs); });
    return {out};
  };
}

Tensors draw_scaled(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor std = operands[1].contiguous();
  const Tensor out = Tensor::empty(std.shape(), dtype_arg(attrs).value_or(std.dtype()));
  const Tensor least = std.to(DType::F64);
  const auto* const deviations = least.data_as<double>();
  if (std::any_of(deviations, deviations + std.numel(), [](double each) { return each < 0; }))
    refuse("random_normal_of: expected all elements of std to be >= 0.0");
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    kernels::random_normal(state, out, 0, 1, true);
  });
  return {build::mul(out, std.to(out.dtype()))};
}

ResultTypes infer_slopes(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_generator(op, operands[0]);
  const TensorType& x = operands[1];
  check_floating(op, kFloats & ~dtype_bit(DType::F16), x.dtype, ErrorKind::NotImplemented);
  return {{x.dtype == DType::F64 ? DType::F64 : DType::F32, x.shape, x.device}};
}

Tensors draw_slopes(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor x = operands[1].contiguous();
  const Tensor out = Tensor::empty(x.shape(), x.dtype() == DType::F64 ? DType::F64 : DType::F32);
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    kernels::random_slopes(state, out, x, float_arg(attrs, "low"), float_arg(attrs, "high"));
  });
  return {out};
}

ResultTypes infer_binomial(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_generator(op, operands[0]);
  check_floating(op, kFloats, operands[1].dtype, ErrorKind::Value);
  check_floating(op, kFloats, operands[2].dtype, ErrorKind::Value);
  check_floating(op, dtype_bit(DType::F32) | dtype_bit(DType::F64), operands[1].dtype,
                 ErrorKind::NotImplemented);
  if (operands[1].dtype != operands[2].dtype)
    refuse(fmt::format("{}: count and prob must have one dtype{}", op.name, describe_operands(op, operands)));
  const std::array<SymShape, 2> shapes = {operands[1].shape, operands[2].shape};
  return {{operands[1].dtype, broadcast_shapes(op.name, shapes), operands[1].device}};
}

Tensors draw_binomial(const OpDef& op, std::span<const Tensor> operands, const Attrs& attrs) {
  const ResultTypes types =
      infer_binomial(op, std::array{type_of(operands[0]), type_of(operands[1]), type_of(operands[2])}, attrs);
  const Tensor count = build::expand(operands[1], types[0].shape).contiguous(),
               probability = build::expand(operands[2], types[0].shape).contiguous();
  const Tensor out = Tensor::empty(count.shape(), types[0].dtype);
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    kernels::random_binomial(state, out, count, probability);
  });
  return {out};
}

ResultTypes infer_gamma(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_generator(op, operands[0]);
  check_floating(op, dtype_bit(DType::F32) | dtype_bit(DType::F64), operands[1].dtype,
                 ErrorKind::NotImplemented);
  if (op.name == "random_dirichlet" && operands[1].shape.empty())
    refuse(fmt::format("{}: expected at least one dimension{}", op.name, describe_operands(op, operands)));
  return {operands[1]};
}

template <void (*kDraw)(RandomState&, const Tensor&, const Tensor&)>
Tensors draw_gamma(const OpDef&, std::span<const Tensor> operands, const Attrs&) {
  const Tensor concentration = operands[1].contiguous();
  const Tensor out = Tensor::empty(concentration.shape(), concentration.dtype());
  if (out.numel() > 0)
    Generator::of_handle(operands[0]).draw([&](RandomState& state) { kDraw(state, out, concentration); });
  return {out};
}

ResultTypes infer_multinomial(const OpDef& op, std::span<const TensorType> operands, const Attrs& attrs) {
  check_generator(op, operands[0]);
  const TensorType& weights = operands[1];
  check_floating(op, kFloats, weights.dtype, ErrorKind::Runtime);
  const size_t ndim = weights.shape.size();
  if (ndim != 1 && ndim != 2)
    refuse(fmt::format("{}: expected one or two dimensions, got {}", op.name, weights.str()));
  const Sym samples = sym_arg(attrs, "num_samples");
  if (!sym_ge(samples, Sym(1))) refuse(fmt::format("{}: cannot draw {} samples", op.name, samples.str()));
  if (!attrs.get_bool("replacement") && !sym_ge(weights.shape.back(), samples))
    refuse(fmt::format("{}: cannot draw {} samples of {} categories without replacement", op.name,
                       samples.str(), weights.shape.back().str()));
  SymShape shape;
  if (ndim == 2) shape.push_back(weights.shape[0]);
  shape.push_back(samples);
  return {{DType::I64, shape, weights.device}};
}

Tensors draw_multinomial(const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) {
  const Tensor weights = operands[1].contiguous();
  const bool is_row = weights.dim() == 1;
  const bool by_columns = !is_row && memory_order(operands[1])[0] == 1;
  const int64_t rows = is_row ? 1 : weights.size(0), samples = int_arg(attrs, "num_samples");
  const Tensor out = Tensor::empty({rows, samples}, DType::I64);
  Generator::of_handle(operands[0]).draw([&](RandomState& state) {
    kernels::random_multinomial(
        state, out, weights.as_strided({rows, weights.size(-1)}, {weights.size(-1), 1}, weights.offset()),
        attrs.get_bool("replacement"), by_columns);
  });
  return {is_row ? out.as_strided({samples}, {1}, 0) : out};
}

// ---- the generator itself ---------------------------------------------------------------------------------
ResultTypes infer_handle(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_generator(op, operands[0]);
  return {operands[0]};
}
ResultTypes infer_state(const OpDef& op, std::span<const TensorType> operands, const Attrs&) {
  check_generator(op, operands[0]);
  return {{DType::U8, {Sym(Generator::kStateBytes)}, operands[0].device}};
}

ResultTypes infer_new(const OpDef&, std::span<const TensorType>, const Attrs&) {
  return {{DType::I64, {}, {}}};
}

[[maybe_unused]] const bool kOthers = [] {
  const auto define = [](const char* name, const char* schema, const char* doc, InferFn infer,
                         EagerFn eager) {
    declare_draws(register_op(kernel(name, schema, doc, std::move(infer), std::move(eager))));
  };
  define("random_permutation", "(Tensor generator, int n) -> Tensor",
         "The numbers 0 … n - 1 in random order, int64.", infer_permutation, draw_permutation);
  define("random_bernoulli_of", "(Tensor generator, Tensor p, *, dtype? dtype=None) -> Tensor",
         "Ones, each with its own probability, else zeros.", infer_elements,
         eager_elements([](RandomState& state, const Tensor& out, const Tensor& p, const Attrs&) {
           kernels::random_bernoulli_of(state, out, p);
         }));
  define("random_normal_of", "(Tensor generator, Tensor std, *, dtype? dtype=None) -> Tensor",
         "Normal numbers of mean 0, each with its own deviation.", infer_elements, draw_scaled);
  define("random_poisson", "(Tensor generator, Tensor rate) -> Tensor", "Numbers of Poisson's distribution.",
         infer_elements,
         eager_elements([](RandomState& state, const Tensor& out, const Tensor& rate, const Attrs&) {
           kernels::random_poisson(state, out, rate);
         }));
  define("random_slopes", "(Tensor generator, Tensor x, float low, float high) -> Tensor",
         "Slopes of [low, high) where x <= 0, else 1; float64 for such an x, else float32.", infer_slopes,
         draw_slopes);
  define("random_binomial", "(Tensor generator, Tensor count, Tensor prob) -> Tensor",
         "How many of `count` trials succeed, each with probability prob.", infer_binomial, draw_binomial);
  define("random_gamma", "(Tensor generator, Tensor concentration) -> Tensor",
         "Numbers of Gamma's distribution with rate 1, each with its own concentration.", infer_gamma,
         draw_gamma<kernels::random_gamma>);
  define("random_dirichlet", "(Tensor generator, Tensor concentration) -> Tensor",
         "Rows, the last dimension, of Dirichlet's distribution.", infer_gamma,
         draw_gamma<kernels::random_dirichlet>);
  define("random_multinomial",
         "(Tensor generator, Tensor weights, int num_samples, bool replacement=False) -> Tensor",
         "Positions in the last dimension, as probable as their weights; int64.", infer_multinomial,
         draw_multinomial);
  OpDef fresh = kernel(
      "random_new", "() -> Tensor", "The handle of a new generator, which lives as long as the handle does.",
      infer_new,
      [](const OpDef&, std::span<const Tensor>, const Attrs&) -> Tensors { return {Generator().handle()}; });
  register_op(std::move(fresh));
  define("random_seed", "(Tensor generator, int seed) -> Tensor", "Seeds the generator; gives the handle.",
         infer_handle, [](const OpDef&, std::span<const Tensor> operands, const Attrs& attrs) -> Tensors {
           Generator::of_handle(operands[0]).manual_seed(static_cast<uint64_t>(int_arg(attrs, "seed")));
           return {operands[0].clone()};
         });
  define("random_state", "(Tensor generator) -> Tensor", "The generator's state.", infer_state,
         [](const OpDef&, std::span<const Tensor> operands, const Attrs&) -> Tensors {
           return {Generator::of_handle(operands[0]).get_state()};
         });
  define("random_set_state", "(Tensor generator, Tensor state) -> Tensor",
         "Gives the generator a state; gives the handle.", infer_handle,
         [](const OpDef&, std::span<const Tensor> operands, const Attrs&) -> Tensors {
           Generator::of_handle(operands[0]).set_state(operands[1]);
           return {operands[0].clone()};
         });
  return true;
}();

}  // namespace

Tensor dropped(const Tensor& x, double p) {
  if (p == 0) return x;
  if (p == 1) return build::mul(x, build::full({}, Scalar(0), x.dtype()));
  const bool is_half = itemsize(x.dtype()) == 2;
  const Tensor kept = call1("random_bernoulli_like", {Generator::default_generator().handle(), x},
                            {{"p", 1 - p}, {"dtype", is_half ? DType::F32 : x.dtype()}});
  return build::mul(x, build::cast(invoke("true_divide", {kept, Scalar(1 - p)}), x.dtype()));
}

}  // namespace weft::ops
