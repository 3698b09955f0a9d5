#include "script/run/stretch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <string_view>

#include "core/profiling.h"
#include "ops/tracer.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"
#include "script/builtins/nested.h"
#include "script/run/code.h"
#include "script/run/interpreter.h"
#include "weft/error.h"

namespace weft::jit {

const ir::ScriptOp kStretch{"prim::CompiledStretch"};

// ---- patterns --------------------------------------------------------------------------------------------
Pattern Pattern::of(const IValue& value, std::vector<Tensor>& tensors) {
  Pattern pattern;
  switch (value.tag()) {
    case IValue::Tag::Tensor:
      if (!value.to_tensor().defined()) break;
      pattern.is_tensor = true;
      tensors.push_back(value.to_tensor());
      return pattern;
    case IValue::Tag::List:
    case IValue::Tag::Tuple:
      pattern.value = value.is_list() ? IValue::list(value.to_list()->element)
                                      : IValue(std::make_shared<Tuple>(Tuple{{}, value.to_tuple()->type}));
      for (const IValue& element : value.elements()) pattern.elements.push_back(of(element, tensors));
      return pattern;
    case IValue::Tag::None:
    case IValue::Tag::Int:
    case IValue::Tag::Float:
    case IValue::Tag::Bool:
    case IValue::Tag::Complex:
    case IValue::Tag::String:
    case IValue::Tag::Device: pattern.value = value; return pattern;
    default: break;
  }
  throw_error(ErrorKind::NotImplemented,
              fmt::format("a {} cannot be passed to compiled code", str(value.tag())));
}

bool Pattern::matches(const IValue& other, std::vector<Tensor>& tensors) const {
  if (is_tensor) {
    if (!other.is_tensor()) return false;
    tensors.push_back(other.to_tensor());
    return true;
  }
  if (other.tag() != value.tag()) return false;
  if (!value.is_list() && !value.is(IValue::Tag::Tuple)) {
    if (const int64_t* number = value.if_int()) return *number == *other.if_int();
    if (const bool* flag = value.if_bool()) return *flag == *other.if_bool();
    return value.equals(other);
  }
  const std::vector<IValue>& values = other.elements();
  if (values.size() != elements.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!elements[i].matches(values[i], tensors)) return false;
  }
  return true;
}

IValue Pattern::build(std::span<const Tensor>& tensors) const {
  if (is_tensor) {
    IValue result = tensors.front();
    tensors = tensors.subspan(1);
    return result;
  }
  if (is_copied) return value.to_tensor().clone();
  if (!value.is_list() && !value.is(IValue::Tag::Tuple)) return value;
  std::vector<IValue> values;
  values.reserve(elements.size());
  for (const Pattern& element : elements) values.push_back(element.build(tensors));
  if (value.is_list()) return IValue::list(value.to_list()->element, std::move(values));
  return std::make_shared<Tuple>(Tuple{std::move(values), value.to_tuple()->type});
}

size_t Pattern::hash() const {
  size_t result = static_cast<size_t>(value.tag()) * 31 + is_tensor;
  if (const int64_t* number = value.if_int()) result ^= std::hash<int64_t>()(*number) * 7;
  if (const double* number = value.if_double()) result ^= std::hash<double>()(*number) * 11;
  if (const bool* flag = value.if_bool()) result ^= *flag ? 13 : 17;
  if (value.is_string()) result ^= std::hash<std::string>()(value.to_string());
  for (const Pattern& element : elements) result = result * 1000003 + element.hash();
  return result;
}

// ---- specializations -------------------------------------------------------------------------------------
struct Stretch::Specialization {
  std::vector<Pattern> inputs, outputs;
  std::shared_ptr<const frontend::Variant> variant;

  bool matches(std::span<const IValue* const> values, std::vector<Tensor>& tensors) const {
    thread_local std::vector<int64_t> symbols;
    tensors.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!inputs[i].matches(*values[i], tensors)) return false;
    }
    return variant->guards.hold(tensors, symbols);
  }
  void run(const std::vector<Tensor>& tensors, std::span<IValue> results) const {
    const std::vector<Tensor> computed = variant->run(tensors);
    std::span<const Tensor> rest = computed;
    for (size_t i = 0; i < results.size(); ++i) results[i] = outputs[i].build(rest);
  }
};

namespace {

void log_decision(const std::string& name, const std::string& text) {
  if (log::enabled(log::Channel::Executor))
    log::write(log::Channel::Executor, fmt::format("{}: {}", name, text));
}

// Operators on these are not for graphs (ops/quantized/tensors.h).
bool is_any_quantized(std::span<const IValue* const> inputs) {
  const auto is_quantized_tensor = [](const IValue& value) {
    return value.is_tensor() && value.to_tensor().defined() && is_quantized(value.to_tensor().dtype());
  };
  return std::any_of(inputs.begin(), inputs.end(), [&](const IValue* input) {
    if (!input->is_list() && !input->is(IValue::Tag::Tuple)) return is_quantized_tensor(*input);
    return std::any_of(input->elements().begin(), input->elements().end(), is_quantized_tensor);
  });
}

// A stretch computes on padded tensors as on others.
bool is_any_nested(std::span<const Tensor> tensors) {
  return nested::is_possible() && std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
           return nested::lengths_of(tensor).has_value();
         });
}

// Without one, only what calls prepared operators is worth a plan.
bool has_compiler() {
  static const bool found = [] {
    try {
      runtime::toolchain();
      return true;
    } catch (const Error& error) {
      log::write(log::Channel::Executor,
                 fmt::format("no code is generated for TorchScript: {}", error.what()));
      return false;
    }
  }();
  return found;
}

// The steps of a plan, by its description; views cost nothing.
int64_t count_steps(std::string_view description) {
  constexpr std::string_view kCall = "call ";
  int64_t count = 0;
  while (!description.empty()) {
    const std::string_view line = description.substr(0, description.find('\n'));
    description.remove_prefix(std::min(line.size() + 1, description.size()));
    const std::string_view name = line.substr(std::min(kCall.size(), line.size()));
    const ops::OpDef* called =
        line.starts_with(kCall) ? ops::find_op(name.substr(0, name.find_first_of(" ,"))) : nullptr;
    count += !called || called->kind != ops::OpKind::View;
  }
  return count;
}

// A plan is faster than the operators where it has fewer steps, or where weights were packed.
bool pays(const frontend::Variant& variant, const std::vector<Tensor>& tensors,
          const std::vector<size_t>& steady) {
  constexpr int64_t kSmall = 16;
  bool has_weights = false;
  int64_t operators = 0;
  for (const size_t input : steady) has_weights |= tensors[input].numel() > kSmall;
  ir::for_each_node(variant.graph->body(), [&](const ir::Node& node) {
    has_weights |= node.kind == ir::NodeKind::Constant && node.constant.numel() > kSmall;
    operators += node.kind == ir::NodeKind::Op && node.op->kind != ops::OpKind::View;
  });
  const int64_t saved = operators - count_steps(variant.compiled->describe());
  // Without generated code, operators that were decomposed are slower than whole.
  return saved > 0 || (has_weights && (saved == 0 || has_compiler()));
}

// The graph's operators on traced tensors.
class Trace {
 public:
  Trace(const Code& code, const std::vector<Pattern>& inputs) : code_(code), inputs_(inputs) {
    for (const IValue& constant : code.constants) note_constant(constant);
  }

  std::vector<Tensor> operator()(const std::vector<Tensor>& traced) {
    std::vector<IValue> arguments;
    std::span<const Tensor> rest = traced;
    for (const Pattern& input : inputs_) arguments.push_back(input.build(rest));
    for (const IValue& argument : arguments) note_lists(argument);
    const std::vector<IValue> given = arguments;  // keeps the lists
    IValue result = run_code(code_, arguments);
    std::vector<IValue> results{result};
    if (code_.num_results != 1) results = code_.num_results ? result.elements() : std::vector<IValue>();
    std::vector<Tensor> tensors;
    outputs.clear();
    for (const IValue& value : results) {
      check_lists(value);
      outputs.push_back(Pattern::of(value, tensors));
    }
    std::vector<Tensor> computed;
    std::span<const Tensor> left = tensors;
    for (Pattern& output : outputs) keep_known(output, left, computed);
    return computed;
  }

  std::vector<Pattern> outputs;

 private:
  [[noreturn]] static void refuse(const char* what) { throw_error(ErrorKind::NotImplemented, what); }
  void note_constant(const IValue& value) {
    if (value.is_tensor() && value.to_tensor().defined())
      constants_.push_back(value.to_tensor().impl().get());
    if (value.is_list() || value.is(IValue::Tag::Tuple)) {
      for (const IValue& element : value.elements()) note_constant(element);
    }
  }
  // Takes the tensors that depend on no input out of what is computed: all that made them is pure.
  void keep_known(Pattern& pattern, std::span<const Tensor>& tensors, std::vector<Tensor>& computed) const {
    for (Pattern& element : pattern.elements) keep_known(element, tensors, computed);
    if (!pattern.is_tensor) return;
    const Tensor& tensor = tensors.front();
    tensors = tensors.subspan(1);
    if (tensor.is_traced() || std::count(constants_.begin(), constants_.end(), tensor.impl().get())) {
      computed.push_back(tensor);
    } else {
      pattern.is_tensor = false;
      pattern.is_copied = true;
      pattern.value = tensor;
    }
  }
  void note_lists(const IValue& value) {
    if (value.is_list()) lists_.push_back(value.to_list().get());
    if (value.is_list() || value.is(IValue::Tag::Tuple)) {
      for (const IValue& element : value.elements()) note_lists(element);
    }
  }
  // A list is a reference: one that comes out must have been made inside.
  void check_lists(const IValue& value) const {
    if (value.is_list() && std::count(lists_.begin(), lists_.end(), value.to_list().get()))
      refuse("a list that is returned as it came");
    if (value.is_list() || value.is(IValue::Tag::Tuple)) {
      for (const IValue& element : value.elements()) check_lists(element);
    }
  }

  const Code& code_;
  const std::vector<Pattern>& inputs_;
  std::vector<const TensorImpl*> constants_;
  std::vector<const List*> lists_;
};

}  // namespace

Stretch::Stretch(StretchDefinition definition, std::string name)
    : definition_(std::move(definition)), name_(std::move(name)) {}
Stretch::~Stretch() = default;

bool Stretch::run(std::span<const IValue* const> inputs, std::span<IValue> outputs) const {
  if (ops::current_tracer() || is_any_quantized(inputs)) return false;
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  const Specialization* found = nullptr;
  for (const auto& slot : specializations_) {
    const Specialization* candidate = slot.load(std::memory_order_acquire);
    if (!candidate || candidate->matches(inputs, tensors)) {
      found = candidate;
      break;
    }
  }
  if (!found) {
    found = specialize(inputs);
    if (!found || !found->matches(inputs, tensors)) return false;
  }
  if (!found->variant->can_run(tensors) || is_any_nested(tensors)) return false;
  try {
    found->run(tensors, outputs);
  } catch (const Error& error) {
    log_decision(name_, fmt::format("interpreted, for the script's stack: {}", error.what()));
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

size_t Stretch::num_specializations() const {
  return static_cast<size_t>(std::count_if(specializations_.begin(), specializations_.end(),
                                           [](const auto& slot) { return slot.load() != nullptr; }));
}

// Compiled when what is known about the inputs has been seen before: a counter that never repeats is not
// worth it.
bool Stretch::is_expected(const std::vector<Pattern>& patterns, const std::vector<Tensor>& tensors) const {
  if (definition_.compile_at_once) return true;
  size_t hash = 0;
  for (const Pattern& pattern : patterns) hash = hash * 1000003 + pattern.hash();
  for (const Tensor& tensor : tensors)
    hash = hash * 1000003 + static_cast<size_t>(tensor.dtype()) * 64 + static_cast<size_t>(tensor.dim());
  if (std::count(missed_.begin(), missed_.end(), hash)) return true;
  constexpr size_t kMostMissed = 8;
  constexpr int kMostMisses = 64;
  if (++misses_ == kMostMisses) {
    is_closed_ = true;
    log_decision(name_, fmt::format("{} specializations; other inputs are interpreted: what is known about "
                                    "them changes at every call",
                                    owned_.size()));
  }
  if (missed_.size() == kMostMissed) missed_.erase(missed_.begin());
  missed_.push_back(hash);
  return false;
}

const Stretch::Specialization* Stretch::specialize(std::span<const IValue* const> inputs) const {
  if (is_closed_.load(std::memory_order_relaxed)) return nullptr;
  for (const size_t flag : definition_.must_be_false) {
    const bool* value = inputs[flag]->if_bool();
    if (!value || *value) return nullptr;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_closed_) return nullptr;
  std::vector<Tensor> tensors;
  for (const auto& made : owned_) {
    if (made->matches(inputs, tensors)) return made.get();  // another thread was faster
  }
  try {
    auto made = compile(inputs);
    if (!made) return nullptr;
    const size_t number = owned_.size();
    owned_.push_back(std::move(made));
    specializations_[number].store(owned_.back().get(), std::memory_order_release);
    if (number + 1 == kMostSpecializations) {
      is_closed_ = true;
      log_decision(name_,
                   fmt::format("specialized {} times, the most there may be; other inputs are interpreted",
                               number + 1));
    }
    return owned_.back().get();
  } catch (const std::exception& error) {
    log_decision(name_, fmt::format("interpreted: {}", error.what()));
    note_failure(error);
    return nullptr;
  }
}

// What cannot be traced once will not be later; an error of the user's comes from these inputs alone.
void Stretch::note_failure(const std::exception& error) const {
  constexpr int kMostFailures = 20, kOfATrace = 10;
  const auto* known = dynamic_cast<const Error*>(&error);
  const bool is_users =
      known && known->kind() != ErrorKind::NotImplemented && known->kind() != ErrorKind::Internal;
  failures_ += is_users ? 1 : kOfATrace;
  if (failures_ >= kMostFailures) is_closed_ = true;
}

std::unique_ptr<const Stretch::Specialization> Stretch::compile(std::span<const IValue* const> inputs) const {
  auto made = std::make_unique<Specialization>();
  std::vector<Tensor> tensors;
  std::vector<size_t> steady;  // among the tensors
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->is_tensor() && std::count(definition_.steady.begin(), definition_.steady.end(), i))
      steady.push_back(tensors.size());
    made->inputs.push_back(Pattern::of(*inputs[i], tensors));
  }
  if (!is_expected(made->inputs, tensors)) return nullptr;
  if (!owned_.empty() && log::enabled(log::Channel::Recompiles)) {
    log::write(log::Channel::Recompiles,
               fmt::format("{}: specialization {}: the inputs match none of the earlier ones", name_,
                           owned_.size() + 1));
  }
  if (!code_) code_ = std::make_unique<const Code>(*definition_.graph, name_);
  const profiling::Span span([&] { return "capture " + name_; }, profiling::Kind::Compile);
  const auto start = std::chrono::steady_clock::now();
  Trace trace(*code_, made->inputs);
  const CompileOptions options{.name = name_, .mode = definition_.mode, .fullgraph = true};
  made->variant = frontend::trace(std::ref(trace), tensors, history_, options, has_compiler(), steady);
  made->outputs = std::move(trace.outputs);
  if (!pays(*made->variant, tensors, steady))
    throw_error(ErrorKind::NotImplemented, "nothing to fuse, no constant weights");
  if (log::enabled(log::Channel::Guards))
    log::write(log::Channel::Guards, fmt::format("{}\n{}", name_, made->variant->guards.str()));
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log_decision(name_,
               fmt::format("compiled in {:.0f} ms, specialization {}", time.count(), owned_.size() + 1));
  return made;
}

}  // namespace weft::jit
