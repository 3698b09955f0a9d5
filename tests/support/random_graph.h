// Random graphs from the operator table, with inputs, for differential tests.
//
//   RandomGraph sample = random_graph(seed, {.num_nodes = 20});
//   SCOPED_TRACE("seed " + std::to_string(seed));
//   EXPECT_EQ(difference(f(sample), ir::interpret(*sample.graph, sample.inputs)), "");
//
// Every node has been run eagerly once, so that the graph raises no error on these inputs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "weft/detail/visit_dtype.h"

namespace weft::testing_support {

struct RandomGraphOptions {
  int num_inputs = 3;
  int num_nodes = 12;
  std::vector<DType> dtypes = {DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool};
  std::vector<int64_t> sizes = {1, 2, 3, 5, 8, 17};
  bool symbolic = false;                               // input sizes of at least 2 are symbols
  std::function<bool(const ops::OpDef&)> accept = {};  // which operators may occur; all it can make if empty
};

struct RandomGraph {
  std::unique_ptr<ir::Graph> graph;
  std::vector<Tensor> inputs;
};

inline Tensor random_tensor(std::mt19937_64& random, const Shape& shape, DType dtype) {
  const Tensor wide = Tensor::empty(shape, is_inexact(dtype) ? DType::F64 : DType::I64);
  std::uniform_real_distribution<double> real(-3, 3);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    if (wide.dtype() == DType::F64)
      wide.data_as<double>()[i] = real(random);
    else
      wide.data_as<int64_t>()[i] = static_cast<int64_t>(random() % 9) - (is_signed(dtype) ? 4 : 0);
  }
  if (dtype == DType::Bool) {
    for (int64_t i = 0; i < wide.numel(); ++i)
      wide.data_as<int64_t>()[i] = static_cast<int64_t>(random() % 2);
  }
  return wide.to(dtype);
}

namespace detail {

class GraphBuilder {
 public:
  GraphBuilder(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  RandomGraph run() {
    result_.graph = std::make_unique<ir::Graph>("random");
    Shape shape;
    for (size_t rank = 1 + below(3); rank > 0; --rank) shape.push_back(pick(options_.sizes));
    for (int i = 0; i < options_.num_inputs; ++i) add_input(shape);
    collect_operators();
    int failures = 0;
    for (int made = 0; made < options_.num_nodes && failures < 50 * options_.num_nodes;) {
      if (add_random_node())
        ++made;
      else
        ++failures;
    }
    add_outputs();
    return std::move(result_);
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  ir::Graph& graph() { return *result_.graph; }

  // Inputs share one shape, some of its dimensions dropped or of size 1, so that most of them broadcast.
  void add_input(Shape shape) {
    if (below(3) == 0) shape.erase(shape.begin());
    for (int64_t& size : shape) size = below(4) == 0 ? 1 : size;
    const DType dtype = pick(options_.dtypes);
    ops::TensorType type{dtype, {}, {}};
    for (int64_t size : shape) {
      if (!options_.symbolic || size < 2) {
        type.shape.push_back(size);
        continue;
      }
      const auto [found, is_new] = symbols_.try_emplace(size);
      if (is_new) found->second = graph().env().new_symbol(size);
      type.shape.push_back(found->second);
    }
    result_.inputs.push_back(random_tensor(random_, shape, dtype));
    remember(graph().add_input(std::move(type), fmt::format("x{}", result_.inputs.size() - 1)),
             result_.inputs.back());
  }

  void collect_operators() {
    for (const auto& [name, op] : ops::all_ops()) {
      if (name != op->name || (options_.accept && !options_.accept(*op))) continue;
      const bool made_here = op->kind == ops::OpKind::Pointwise || op->kind == ops::OpKind::Reduction ||
                             op->kind == ops::OpKind::View;
      // Conversions of floating-point numbers that integers do not hold are undefined: casts are made apart.
      if (made_here && name != "cast" && op->num_outputs == 1) operators_.push_back(op);
    }
  }

  void remember(ir::Value* value, Tensor tensor) {
    values_.push_back(value);
    tensors_[value] = std::move(tensor);
  }

  ir::Value* random_constant(DType dtype) {
    static const std::vector<double> numbers = {0, -0.0, 1, -1, 2, 0.5, 3, 1e-3};
    const Tensor tensor = Tensor::scalar(pick(numbers), dtype);
    ir::Value* value = graph().add_constant(graph().body(), tensor)->output();
    tensors_[value] = tensor;
    return value;
  }

  // Prefers what was made last, so that graphs are deep.
  ir::Value* random_value(DType dtype) {
    if (below(8) == 0) return random_constant(dtype);
    for (int attempt = 0; attempt < 20; ++attempt) {
      ir::Value* value = values_[std::max(below(values_.size()), below(values_.size()))];
      if (value->tensor().dtype == dtype) return value;
    }
    return random_constant(dtype);
  }

  bool add_random_node() {
    ir::Value* x = values_[std::max(below(values_.size()), below(values_.size()))];
    switch (below(20)) {
      case 0:
      case 1:
      case 2: return add_cast(x);
      case 3: return repeat_node(x);
      case 4: return add_nearest(x);
      case 5: x = random_constant(pick(options_.dtypes)); break;
      default: break;
    }
    const ops::OpDef& op = *pick(operators_);
    std::vector<ir::Value*> operands;
    ops::Attrs attrs;
    for (const ops::Param& param : op.params) {
      if (param.type == ops::Param::Type::TensorList) return false;
      if (param.type != ops::Param::Type::Tensor) {
        if (!set_attribute(op, param, x->tensor().shape, attrs)) return false;
        continue;
      }
      const bool condition = param.name == "condition";
      operands.push_back(condition          ? random_value(DType::Bool)
                         : operands.empty() ? x
                                            : random_value(x->tensor().dtype));
    }
    return try_node(op, operands, attrs);
  }

  // The same computation again.
  bool repeat_node(const ir::Value* x) {
    return x->def && x->def->op && try_node(*x->def->op, x->def->inputs, x->def->attrs);
  }

  // argmin(sqrt(sum(x * x))), which passes look for.
  bool add_nearest(ir::Value* x) {
    if (!is_floating(x->tensor().dtype) || x->tensor().shape.size() < 2 || options_.accept) return false;
    const auto last = [&] { return values_.back(); };
    return try_node(ops::get_op("mul"), {x, x}, {}) &&
           try_node(ops::get_op("sum"), {last()}, {{"dim", SymShape{Sym(-1)}}}) &&
           try_node(ops::get_op("sqrt"), {last()}, {}) &&
           try_node(ops::get_op(below(2) ? "argmin" : "argmax"), {last()}, {{"dim", Sym(0)}});
  }

  bool add_cast(ir::Value* x) {
    const DType from = x->tensor().dtype, to = pick(options_.dtypes);
    if (is_floating(from) && is_integral(to)) return false;
    return try_node(ops::get_op("cast"), {x}, {{"dtype", to}});
  }

  // Gives the operator's attributes values that fit; false where it does not know how.
  bool set_attribute(const ops::OpDef& op, const ops::Param& param, const SymShape& shape,
                     ops::Attrs& attrs) {
    const size_t rank = shape.size();
    if (op.kind == ops::OpKind::Reduction) {
      if (param.name == "keepdim") attrs.set(param.name, below(2) == 0);
      if (param.name != "dim" || rank == 0 || below(5) == 0) return true;
      const Sym dim = static_cast<int64_t>(below(rank));
      if (param.type == ops::Param::Type::Int)
        attrs.set(param.name, dim);
      else
        attrs.set(param.name, SymShape{dim});
      return true;
    }
    if (op.kind == ops::OpKind::Pointwise) return param.has_default;
    if (rank == 0) return false;
    if (op.name == "permute") {
      SymShape dims;
      for (size_t d = 0; d < rank; ++d) dims.push_back(static_cast<int64_t>(d));
      std::shuffle(dims.begin(), dims.end(), random_);
      attrs.set(param.name, dims);
    } else if (op.name == "reshape") {
      attrs.set(param.name, random_reshape(shape));
    } else if (op.name == "expand") {
      SymShape target = shape;
      for (Sym& size : target) {
        if (size.is_constant() && size.constant() == 1 && below(2)) size = pick(options_.sizes);
      }
      if (below(3) == 0) target.insert(target.begin(), 2);
      attrs.set(param.name, target);
    } else if (op.name == "slice") {
      set_slice(param, shape, attrs);
    } else if (op.name == "diagonal") {
      if (rank < 2) return false;
    } else {
      return false;
    }
    return true;
  }

  // Merges two neighbours, or adds a dimension of size 1.
  SymShape random_reshape(const SymShape& shape) {
    SymShape target = shape;
    if (shape.size() < 2 || below(2)) {
      target.insert(target.begin() + static_cast<std::ptrdiff_t>(below(shape.size() + 1)), 1);
    } else {
      const size_t d = below(shape.size() - 1);
      target[d] = shape[d] * shape[d + 1];
      target.erase(target.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    return target;
  }

  void set_slice(const ops::Param& param, const SymShape& shape, ops::Attrs& attrs) {
    if (param.name == "dim") {
      slice_dim_ = below(shape.size());
      slice_step_ = std::vector<int64_t>{1, 1, 2, -1}[below(4)];
      attrs.set("dim", Sym(static_cast<int64_t>(slice_dim_)));
      attrs.set("step", Sym(slice_step_));
      const Sym size = shape[slice_dim_];
      const bool shorter = size.hint() > 2 && below(2) == 0;
      attrs.set("start", slice_step_ > 0 ? Sym(shorter ? 1 : 0) : size - Sym(1));
      attrs.set("stop", slice_step_ > 0 ? size : Sym(shorter ? 0 : -1));
    }
  }

  bool try_node(const ops::OpDef& op, const std::vector<ir::Value*>& operands, const ops::Attrs& attrs) {
    std::vector<ops::TensorType> types;
    ops::OpArgs args;
    for (const ir::Value* operand : operands) {
      types.push_back(operand->tensor());
      args.tensors.push_back(tensors_.at(operand));
    }
    for (const auto& [name, attr] : attrs.items()) {
      const SymShape* list = std::get_if<SymShape>(&attr);
      const Sym* sym = std::get_if<Sym>(&attr);
      if (sym) {
        args.attrs.set(name, Sym(sym->hint()));
      } else if (list) {
        SymShape hints;
        for (Sym size : *list) hints.push_back(size.hint());
        args.attrs.set(name, hints);
      } else {
        args.attrs.set(name, attr);
      }
    }
    try {
      std::vector<Tensor> results = ops::call(op, args);
      if (results.at(0).numel() > 20000) return false;
      const ir::Node* node = graph().add_node(graph().body(), op, operands, attrs);
      for (size_t i = 0; i < results.size(); ++i) remember(node->outputs[i], results[i]);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // What nobody uses, and now and then something in the middle.
  void add_outputs() {
    for (ir::Value* value : values_) {
      if (value->def && (value->uses.empty() || below(8) == 0)) graph().add_return(graph().body(), value);
    }
  }

  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  RandomGraph result_;
  std::vector<const ops::OpDef*> operators_;
  std::vector<ir::Value*> values_;
  std::map<const ir::Value*, Tensor> tensors_;
  std::map<int64_t, Sym> symbols_;
  size_t slice_dim_ = 0;
  int64_t slice_step_ = 1;
};

template <class T>
bool same_element(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return same_element<float>(a, b);
  else if constexpr (std::is_floating_point_v<T>)
    return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return same_element(a.real(), b.real()) && same_element(a.imag(), b.imag());
  else
    return a == b;
}

}  // namespace detail

inline RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {}) {
  return detail::GraphBuilder(seed, options).run();
}

// Where two lists of results differ: "" if nowhere. Bits must be equal (NaN equals NaN), or pass `close`.
inline std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                              const std::function<bool(DType, double, double)>& close = {}) {
  if (got.size() != want.size()) return fmt::format("{} results, expected {}", got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].dtype() != want[i].dtype() || got[i].shape() != want[i].shape()) {
      return fmt::format("result {}: {}, expected {}", i, describe(got[i]), describe(want[i]));
    }
    const Tensor a = got[i].contiguous(), b = want[i].contiguous();
    std::string found;
    visit_dtype(a.dtype(), [&]<class T>(std::type_identity<T>) {
      const T *x = static_cast<const T*>(a.data()), *y = static_cast<const T*>(b.data());
      for (int64_t k = 0; k < a.numel() && found.empty(); ++k) {
        if (detail::same_element<T>(x[k], y[k]) || (close && close(a.dtype(), a.at(k), b.at(k)))) continue;
        found = fmt::format("result {} ({}), element {}: {:.17g}, expected {:.17g}", i, describe(a), k,
                            a.at(k), b.at(k));
      }
    });
    if (!found.empty()) return found;
  }
  return "";
}

// A smaller graph that still fails: drops outputs, and lets operands stand for nodes of the same type.
inline std::unique_ptr<ir::Graph> shrink(const ir::Graph& graph,
                                         const std::function<bool(const ir::Graph&)>& fails) {
  std::unique_ptr<ir::Graph> best = graph.clone();
  const auto sweep = [](ir::Graph& g) {
    for (auto it = g.body().nodes.end(); it != g.body().nodes.begin();) {
      ir::Node* node = std::prev(it)->get();
      const bool used =
          std::any_of(node->outputs.begin(), node->outputs.end(), [](auto* v) { return !v->uses.empty(); });
      if (used)
        --it;
      else
        g.erase(node);
    }
  };
  const auto attempt = [&](const std::function<bool(ir::Graph&)>& edit) {
    auto candidate = best->clone();
    if (!edit(*candidate)) return false;
    sweep(*candidate);
    if (!fails(*candidate)) return false;
    best = std::move(candidate);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < best->outputs().size() && best->outputs().size() > 1; ++i) {
      changed |= attempt([&](ir::Graph& g) {
        std::vector<ir::Value*> kept = g.outputs();
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
        for (ir::Value* value : g.outputs())
          std::erase_if(value->uses, [&](const ir::Use& use) { return use.block == &g.body(); });
        g.outputs().clear();
        for (ir::Value* value : kept) g.add_return(g.body(), value);
        return true;
      });
    }
    for (size_t n = 0; n < best->body().nodes.size(); ++n) {
      for (size_t operand = 0; operand < 3; ++operand) {
        changed |= attempt([&](ir::Graph& g) {
          if (n >= g.body().nodes.size()) return false;
          ir::Node& node = **std::next(g.body().nodes.begin(), static_cast<std::ptrdiff_t>(n));
          if (node.outputs.size() != 1 || operand >= node.inputs.size() || !node.inputs[operand])
            return false;
          if (node.inputs[operand]->type.str() != node.output()->type.str()) return false;
          g.replace_uses(node.output(), node.inputs[operand]);
          return true;
        });
      }
    }
  }
  return best;
}

// The same tensors on a device; those that are not there stay so.
inline std::vector<Tensor> moved(const std::vector<Tensor>& tensors, Device device) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.defined() ? tensor.to(device) : tensor);
  return result;
}

}  // namespace weft::testing_support
