#include "ir/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "ops/memory_order.h"
#include "ops/view.h"

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

Shape hints(const SymShape& shape) {
  Shape result;
  for (const Sym& size : shape) result.push_back(size.hint());
  return result;
}

class TracedValue final : public ops::RecordedHandle {
 public:
  TracedValue(uint64_t owner, std::shared_ptr<Base> base, std::vector<ViewStep> chain, Value* value)
      : owner_(owner),
        base(std::move(base)),
        chain(std::move(chain)),
        value(value),
        generation(this->base->generation),
        type_(value->tensor()) {}
  const TensorType& type() const override { return type_; }
  uint64_t owner() const { return owner_; }

 private:
  uint64_t owner_;

 public:
  std::shared_ptr<Base> base;
  std::vector<ViewStep> chain;
  Value* value;  // as of `generation`
  int generation;

 private:
  TensorType type_;
};

}  // namespace

struct GraphTracer::Impl {
  explicit Impl(std::string name) : graph(std::make_unique<Graph>(std::move(name))) {}

  // `strides` are those the array has eagerly: they decide which reshapes are views.
  Tensor wrap(Value* value, std::shared_ptr<Base> base, std::vector<ViewStep> chain, Strides strides) {
    auto impl = std::make_shared<TensorImpl>();
    const TensorType& type = value->tensor();
    impl->dtype = type.dtype;
    impl->device = type.device;
    impl->shape = hints(type.shape);
    numel(impl->shape);  // which raises, as eagerly, where it does not fit 64 bits
    impl->strides = std::move(strides);
    impl->trace = std::make_shared<TracedValue>(id, std::move(base), std::move(chain), value);
    return Tensor(std::move(impl));
  }

  Tensor wrap_result(const Attrs& attrs, Value* value) {
    auto base = std::make_shared<Base>();
    base->current = value;
    return wrap(value, std::move(base), {}, hints(ops::result_strides(attrs, value->tensor().shape)));
  }

  Tensor wrap_input(Value* value, Strides strides) {
    auto base = std::make_shared<Base>();
    base->current = value;
    base->input = static_cast<int>(value->index);
    input_bases.push_back(base);
    return wrap(value, std::move(base), {}, std::move(strides));
  }

  Tensor as_it_is_now(const std::shared_ptr<Base>& base) {
    return wrap(base->current, base, {}, contiguous_strides(hints(base->current->tensor().shape)));
  }

  TracedValue& handle(const Tensor& tensor) {
    auto* traced = dynamic_cast<TracedValue*>(tensor.impl()->trace.get());
    WEFT_CHECK(traced && traced->owner() == id, "a traced tensor is used in another trace than its own");
    return *traced;
  }

  Value* constant(const Tensor& tensor);

  // Results lie where operands do that are not on the host: numbers, and what composites make, go along.
  void put_beside_operands(const Node& node) {
    if (!follows_devices) return;
    Device device;
    for (const Value* input : node.inputs)
      if (input && input->tensor().device != Device{}) device = input->tensor().device;
    for (Value* output : node.outputs) {
      if (output->tensor().device == Device{}) output->type.tensor.device = device;
      note_device(output->tensor().device);
    }
  }

  void note_device(Device device) {
    if (device != Device{}) other_device = device;
  }

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
    const Node* node = graph->add_node(graph->body(), op, std::move(inputs), std::move(attrs), location);
    put_beside_operands(*node);
    return node->output();
  }
  Value* add(std::string_view op, std::vector<Value*> inputs, Attrs attrs) {
    return add(ops::get_op(op), std::move(inputs), std::move(attrs));
  }

  Value* invert(const ViewStep& step, Value* source, Value* updated);

  static uint64_t next_id() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }

  Value* moved(Value* value, Device device) {
    Value* copy = add("cast", {value}, {{"dtype", value->tensor().dtype}});
    copy->type.tensor.device = device;
    note_device(device);
    return copy;
  }

  const uint64_t id = next_id();
  bool follows_devices = false;
  Device other_device;  // of the graph's values, that is not the host; the last one seen
  std::unique_ptr<Graph> graph;
  SourceLocation location;
  std::vector<std::shared_ptr<Base>> input_bases;
  std::map<std::string, Value*> small_constants;  // by dtype, shape and bytes
  std::map<const TensorImpl*, Value*> large_constants;
  std::vector<Tensor> kept;  // so that the keys above stay unique
};

namespace {

constexpr int64_t kSmallConstant = 16;

std::string constant_key(const Tensor& tensor) {
  std::string key = describe(tensor) + "\n";
  const Tensor dense = tensor.to(Device()).contiguous();
  key.append(static_cast<const char*>(dense.data()),
             static_cast<size_t>(dense.numel() * itemsize(dense.dtype())));
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
void GraphTracer::follow_devices() { impl_->follows_devices = true; }
bool GraphTracer::is_of_device(Device device) const {
  return device == Device{} || impl_->other_device == Device{} || device == impl_->other_device;
}
void GraphTracer::set_location(SourceLocation location) { impl_->location = std::move(location); }
Value* GraphTracer::value_of(const Tensor& tensor) { return impl_->value_of(tensor); }

std::optional<InputView> GraphTracer::input_view(const Tensor& tensor) const {
  const TracedValue& traced = impl_->handle(tensor);
  if (traced.base->input < 0) return std::nullopt;
  InputView view{static_cast<size_t>(traced.base->input),
                 impl_->as_it_is_now(traced.base),
                 traced.base->generation > 0,
                 {}};
  for (const ViewStep& step : traced.chain) view.steps.emplace_back(step.op, step.attrs);
  return view;
}

// Is it computed element by element of a view of another value, as a copy is? Where all operators on the way
// are simplified away, what is left is the view.
static bool copies_view(const Value* value, int depth = 0) {
  constexpr int kDeepest = 8;
  const Node* node = value->def;
  if (!node || !node->op || depth > kDeepest) return false;
  if (node->op->kind == ops::OpKind::View) return true;
  return node->op->kind == ops::OpKind::Pointwise &&
         std::any_of(node->inputs.begin(), node->inputs.end(),
                     [&](const Value* input) { return copies_view(input, depth + 1); });
}

std::optional<BaseView> GraphTracer::base_view(const Tensor& tensor) const {
  if (!tensor.is_traced()) return std::nullopt;
  const TracedValue& traced = impl_->handle(tensor);
  if (traced.base->input >= 0) return std::nullopt;
  BaseView view{
      impl_->as_it_is_now(traced.base), traced.base->generation > 0, copies_view(traced.base->current), {}};
  for (const ViewStep& step : traced.chain) view.steps.emplace_back(step.op, step.attrs);
  return view;
}

bool GraphTracer::share_memory(const Tensor& a, const Tensor& b) const {
  return a.is_traced() && b.is_traced() && impl_->handle(a).base == impl_->handle(b).base;
}

Tensor GraphTracer::input(TensorType type, std::string name, std::optional<Strides> strides) {
  impl_->note_device(type.device);
  Value* value = impl_->graph->add_input(std::move(type), std::move(name));
  return impl_->wrap_input(value,
                           strides ? std::move(*strides) : contiguous_strides(hints(value->tensor().shape)));
}

Tensor GraphTracer::constant(const Tensor& tensor) {
  auto base = std::make_shared<Base>();
  base->current = impl_->constant(tensor);
  return impl_->wrap(base->current, base, {}, tensor.strides());
}

namespace {

// A reshape that is a view splits and joins dimensions of a group, which lie together in memory, among
// themselves; so it must with other sizes. One that copies must find a group that no dimensions make up.
void guard_groups(const Tensor& source, const SymShape& sizes, const Shape& target,
                  const SymShape& target_sizes) {
  const Shape& shape = source.impl()->shape;
  const Strides& strides = source.impl()->strides;
  if (weft::numel(shape) == 0) return;
  size_t next = target.size();
  for (size_t d = shape.size(); d > 0;) {
    int64_t size = shape[--d], taken = 1;
    const int64_t base = strides[d];
    if (size == 1) continue;
    Sym elements = sizes[d], taken_elements(1);
    while (d > 0 && (shape[d - 1] == 1 || strides[d - 1] == base * size)) {
      size *= shape[--d];
      elements = elements * sizes[d];
    }
    if (d == 0) return;  // the first group: all elements are as many as before
    const size_t behind = next;
    while (next > 0 && taken < size) {
      taken *= target[--next];
      taken_elements = taken_elements * target_sizes[next];
    }
    if (taken == size) {
      sym_eq(elements, taken_elements);
      continue;
    }
    taken_elements = 1;
    for (next = behind; next > 0;) {
      taken_elements = taken_elements * target_sizes[--next];
      sym_eq(elements, taken_elements);
    }
    return;
  }
}

// Strides the view has eagerly; none for a reshape that must copy.
std::optional<Strides> strides_of_view(const OpDef& op, const Attrs& attrs, const Tensor& source,
                                       const TensorType& result) {
  const Shape shape = hints(result.shape);
  const Shape& from = source.impl()->shape;
  Strides strides = source.impl()->strides;
  const auto axis = [&](std::string_view name) {
    const int64_t d = attrs.get_int(name);
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(from.size()) : d);
  };
  if (op.name == "reshape") return ops::view_strides(from, strides, shape);
  if (op.name == "permute") {
    Strides permuted;
    for (int64_t d : attrs.get_ints("dims")) {
      permuted.push_back(strides[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(from.size()) : d)]);
    }
    return permuted;
  }
  if (op.name == "expand") {
    const size_t added = shape.size() - from.size();
    Strides expanded(shape.size(), 0);
    for (size_t d = 0; d < from.size(); ++d)
      expanded[added + d] = from[d] == shape[added + d] ? strides[d] : 0;
    return expanded;
  }
  if (op.name == "slice") {
    strides[axis("dim")] *= attrs.get_int("step");
    return strides;
  }
  if (op.name == "diagonal") {
    const size_t dim1 = axis("dim1"), dim2 = axis("dim2");
    const int64_t along = strides[dim1] + strides[dim2];
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(std::max(dim1, dim2)));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(std::min(dim1, dim2)));
    strides.push_back(along);
    return strides;
  }
  if (op.name == "unfold") {
    if (strides.empty()) return Strides{1};
    const size_t dim = axis("dim");
    strides.push_back(strides[dim]);
    strides[dim] *= attrs.get_int("step");
    return strides;
  }
  throw_error(ErrorKind::NotImplemented, fmt::format("the view operator '{}' cannot be traced", op.name));
}

}  // namespace

std::vector<Tensor> GraphTracer::record(const ops::OpDef& op, const ops::OpArgs& args) {
  std::vector<Value*> inputs;
  for (const Tensor& tensor : args.tensors) inputs.push_back(impl_->value_of(tensor));
  const Node* node = impl_->graph->add_node(impl_->graph->body(), op, inputs, args.attrs, impl_->location);
  impl_->put_beside_operands(*node);
  if (op.kind == ops::OpKind::View) {
    const Tensor& source = args.tensors.at(0);
    const TensorType& result = node->output()->tensor();
    auto strides = strides_of_view(op, node->attrs, source, result);
    if (op.name == "reshape")
      guard_groups(source, inputs[0]->tensor().shape, hints(result.shape), result.shape);
    if (strides) {
      const TracedValue& traced = impl_->handle(source);
      std::vector<ViewStep> chain = traced.chain;
      chain.push_back({&op, node->attrs, traced.type()});
      return {impl_->wrap(node->output(), traced.base, std::move(chain), std::move(*strides))};
    }
  }
  std::vector<Tensor> results;
  for (Value* output : node->outputs) results.push_back(impl_->wrap_result(node->attrs, output));
  return results;
}

Tensor GraphTracer::record_part(const ops::OpDef& op, const Tensor& source, Attrs attrs) {
  const Node* node = impl_->graph->add_node(impl_->graph->body(), op, {impl_->value_of(source)},
                                            std::move(attrs), impl_->location);
  const TracedValue& traced = impl_->handle(source);
  std::vector<ViewStep> chain = traced.chain;
  chain.push_back({&op, node->attrs, traced.type()});
  Strides strides =
      ops::part_strides(op.name, source.impl()->strides, traced.type().dtype, node->output()->tensor().dtype);
  return impl_->wrap(node->output(), traced.base, std::move(chain), std::move(strides));
}

Tensor GraphTracer::record_move(const Tensor& tensor, Device device) {
  WEFT_CHECK(impl_->follows_devices,
             fmt::format("to: {} is traced, and its graph is of one device: {} is another", describe(tensor),
                         device.str()));
  return impl_->wrap_result({}, impl_->moved(impl_->value_of(tensor), device));
}

Tensor GraphTracer::with_strides(const Tensor& tensor, Strides strides) {
  const TracedValue& traced = impl_->handle(tensor);
  if (traced.base->input >= 0 || !traced.chain.empty())
    return with_strides(record(ops::get_op("cast"), {{tensor}, {{"dtype", tensor.dtype()}}}).at(0),
                        std::move(strides));
  return impl_->wrap(impl_->value_of(tensor), traced.base, {}, std::move(strides));
}

// What `source` becomes when its view becomes `updated`.
Value* GraphTracer::Impl::invert(const ViewStep& step, Value* source, Value* updated) {
  const std::string_view name = step.op->name;
  if (name == "slice") return add("slice_update", {source, updated}, step.attrs);
  if (name == "diagonal") return add("diagonal_update", {source, updated}, step.attrs);
  if (name == "reshape") return add("reshape", {updated}, {{"shape", step.source.shape}});
  if (name == "real") return add("complex", {updated, add("imag", {source}, {})}, {});
  if (name == "imag") return add("complex", {add("real", {source}, {}), updated}, {});
  if (name == "bitcast") return add("bitcast", {updated}, {{"dtype", step.source.dtype}});
  if (name == "permute") {
    const std::vector<int64_t> dims = step.attrs.get_ints("dims");
    const auto rank = static_cast<int64_t>(dims.size());
    SymShape inverse(dims.size());
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t from = dims[static_cast<size_t>(d)];
      inverse[static_cast<size_t>(from < 0 ? from + rank : from)] = d;
    }
    return add("permute", {updated}, {{"dims", inverse}});
  }
  throw_error(
      ErrorKind::NotImplemented,
      fmt::format("an in-place update through '{}' cannot be traced: several elements share memory", name));
}

void GraphTracer::record_copy(const Tensor& target, const Tensor& source) {
  WEFT_CHECK(
      target.is_traced(),
      fmt::format("in-place update of an array from outside the traced function: {}", describe(target)));
  TracedValue& traced = impl_->handle(target);
  Value* updated = impl_->value_of(source);
  const TensorType& type = traced.type();
  if (updated->tensor().dtype != type.dtype) updated = impl_->add("cast", {updated}, {{"dtype", type.dtype}});
  if (updated->tensor().shape.size() != type.shape.size() ||
      !std::equal(type.shape.begin(), type.shape.end(), updated->tensor().shape.begin(), sym_eq)) {
    updated = impl_->add("expand", {updated}, {{"shape", type.shape}});
  }
  if (impl_->follows_devices && updated->tensor().device != type.device)
    updated = impl_->moved(updated, type.device);
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
