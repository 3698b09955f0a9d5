#include "ir/trace.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace weft::ir {
namespace {

// What a chain of views looks at: one value of the graph, replaced by a new one at every in-place update.
struct Base {
  Value* current = nullptr;
  int generation = 0;
  int input = -1;  // number of the graph input, or -1
};

struct ViewStep {
  const OpDef* op;
  Attrs attrs;
  TensorType source;  // what the view is taken of
};

class TracedValue final : public TraceHandle {
 public:
  TracedValue(const void* owner, std::shared_ptr<Base> base, std::vector<ViewStep> chain, Value* value)
      : owner_(owner), base(std::move(base)), chain(std::move(chain)), value(value), generation(this->base->generation),
        type_(value->tensor()) {}
  const TensorType& type() const override { return type_; }
  const void* owner() const { return owner_; }

 private:
  const void* owner_;

 public:
  std::shared_ptr<Base> base;
  std::vector<ViewStep> chain;
  Value* value;    // as of `generation`
  int generation;

 private:
  TensorType type_;
};

}  // namespace

struct GraphTracer::Impl {
  explicit Impl(std::string name) : graph(std::make_unique<Graph>(std::move(name))) {}

  Tensor wrap(Value* value, std::shared_ptr<Base> base, std::vector<ViewStep> chain) {
    auto impl = std::make_shared<TensorImpl>();
    const TensorType& type = value->tensor();
    impl->dtype = type.dtype;
    impl->device = type.device;
    for (const Sym& size : type.shape) impl->shape.push_back(size.hint());
    impl->strides = contiguous_strides(impl->shape);
    impl->trace = std::make_shared<TracedValue>(this, std::move(base), std::move(chain), value);
    return Tensor(std::move(impl));
  }

  Tensor wrap_fresh(Value* value, int input = -1) {
    auto base = std::make_shared<Base>();
    base->current = value;
    base->input = input;
    if (input >= 0) input_bases.push_back(base);
    return wrap(value, std::move(base), {});
  }

  TracedValue& handle(const Tensor& tensor) {
    auto* traced = dynamic_cast<TracedValue*>(tensor.impl()->trace.get());
    WEFT_CHECK(traced && traced->owner() == this, "a traced tensor is used in another trace than its own");
    return *traced;
  }

  Value* constant(const Tensor& tensor);

  Value* value_of(const Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    if (!tensor.is_traced()) return constant(tensor);
    TracedValue& traced = handle(tensor);
    if (traced.generation != traced.base->generation) {
      traced.value = derive(*traced.base, traced.chain, traced.chain.size());
      traced.generation = traced.base->generation;
    }
    return traced.value;
  }

  // The first `steps` views of the chain, applied to the base as it is now.
  Value* derive(const Base& base, const std::vector<ViewStep>& chain, size_t steps) {
    Value* value = base.current;
    for (size_t i = 0; i < steps; ++i) value = add(*chain[i].op, {value}, chain[i].attrs);
    return value;
  }

  Value* add(const OpDef& op, std::vector<Value*> inputs, Attrs attrs) {
    return graph->add_node(graph->body(), op, std::move(inputs), std::move(attrs), location)->output();
  }
  Value* add(std::string_view op, std::vector<Value*> inputs, Attrs attrs) {
    return add(ops::get_op(op), std::move(inputs), std::move(attrs));
  }

  Value* invert(const ViewStep& step, Value* old_source, Value* updated);

  std::unique_ptr<Graph> graph;
  SourceLocation location;
  std::vector<std::shared_ptr<Base>> input_bases;
  std::map<std::string, Value*> small_constants;          // by dtype, shape and bytes
  std::map<const TensorImpl*, Value*> large_constants;
  std::vector<Tensor> kept;                               // so that the keys above stay unique
};

namespace {

constexpr int64_t kSmallConstant = 16;

std::string constant_key(const Tensor& tensor) {
  std::string key = describe(tensor) + "\n";
  const Tensor dense = tensor.contiguous();
  key.append(static_cast<const char*>(dense.data()), static_cast<size_t>(dense.numel() * itemsize(dense.dtype())));
  return key;
}

}  // namespace

// Arrays that are not traced become constants. Small ones are copied, so that equal ones are one node; large
// ones are held, and must not change while the graph lives.
Value* GraphTracer::Impl::constant(const Tensor& tensor) {
  const bool small = tensor.numel() <= kSmallConstant && tensor.device().type == DeviceType::CPU;
  Value*& value = small ? small_constants[constant_key(tensor)] : large_constants[tensor.impl().get()];
  if (!value) {
    if (!small) kept.push_back(tensor);
    value = graph->add_constant(graph->body(), small ? tensor.clone() : tensor, location)->output();
  }
  return value;
}

GraphTracer::GraphTracer(std::string name) : impl_(std::make_unique<Impl>(std::move(name))) {}
GraphTracer::~GraphTracer() = default;

Graph& GraphTracer::graph() { return *impl_->graph; }
void GraphTracer::set_location(SourceLocation location) { impl_->location = std::move(location); }
Value* GraphTracer::value_of(const Tensor& tensor) { return impl_->value_of(tensor); }

Tensor GraphTracer::input(TensorType type, std::string name) {
  Value* value = impl_->graph->add_input(std::move(type), std::move(name));
  return impl_->wrap_fresh(value, static_cast<int>(value->index));
}

std::vector<Tensor> GraphTracer::record(const ops::OpDef& op, const ops::OpArgs& args) {
  std::vector<Value*> inputs;
  for (const Tensor& tensor : args.tensors) inputs.push_back(impl_->value_of(tensor));
  const Node* node = impl_->graph->add_node(impl_->graph->body(), op, inputs, args.attrs, impl_->location);
  std::vector<Tensor> results;
  const bool is_view = op.kind == ops::OpKind::View && args.tensors.size() == 1 && args.tensors[0].is_traced();
  for (Value* output : node->outputs) {
    if (is_view && node->outputs.size() == 1) {
      const TracedValue& source = impl_->handle(args.tensors[0]);
      std::vector<ViewStep> chain = source.chain;
      chain.push_back({&op, node->attrs, source.type()});
      results.push_back(impl_->wrap(output, source.base, std::move(chain)));
    } else {
      results.push_back(impl_->wrap_fresh(output));
    }
  }
  return results;
}

// The value of the view's source after the view has become `updated`.
Value* GraphTracer::Impl::invert(const ViewStep& step, Value*, Value*) {
  throw_error(ErrorKind::NotImplemented, fmt::format("in-place update through '{}' cannot be traced", step.op->name));
}

void GraphTracer::record_copy(const Tensor& target, const Tensor& source) {
  WEFT_CHECK(target.is_traced(), fmt::format("in-place update of an array from outside the traced function: {}",
                                             describe(target)));
  TracedValue& traced = impl_->handle(target);
  Value* updated = impl_->value_of(source);
  const TensorType& type = traced.type();
  if (updated->tensor().dtype != type.dtype) updated = impl_->add("cast", {updated}, {{"dtype", type.dtype}});
  if (updated->tensor().shape.size() != type.shape.size() ||
      !std::equal(type.shape.begin(), type.shape.end(), updated->tensor().shape.begin(), sym_eq)) {
    updated = impl_->add("expand", {updated}, {{"shape", type.shape}});
  }
  Value* value = updated;
  for (size_t i = traced.chain.size(); i-- > 0;) {
    value = impl_->invert(traced.chain[i], impl_->derive(*traced.base, traced.chain, i), value);
  }
  traced.base->current = value;
  ++traced.base->generation;
  traced.value = updated;
  traced.generation = traced.base->generation;
}

std::unique_ptr<Graph> GraphTracer::finish(const std::vector<Tensor>& outputs) {
  Graph& graph = *impl_->graph;
  for (const Tensor& output : outputs) {
    WEFT_CHECK(output.defined(), "a traced function returned an undefined tensor");
    graph.add_return(graph.body(), impl_->value_of(output));
  }
  for (const auto& base : impl_->input_bases) {
    if (base->generation > 0) graph.add_write_back(static_cast<size_t>(base->input), base->current);
  }
  return std::move(impl_->graph);
}

}  // namespace weft::ir
