// The engine under weft::compile: traces, guards, variants.
#include "weft/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "frontend/guards.h"
#include "frontend/variant.h"
#include "ops/tracer.h"
#include "runtime/log.h"
#include "weft/env.h"

namespace weft::detail {

using frontend::DimensionHistory;
using frontend::Guards;
using frontend::Variant;

struct CompiledFunction::Impl {
  Function function;
  CompileOptions options;
  mutable std::shared_mutex variants_mutex;  // guards `variants`; taken for a moment only
  std::mutex capture_mutex;                  // one trace at a time
  std::vector<std::shared_ptr<const Variant>> variants;
  DimensionHistory history;  // under capture_mutex
  std::atomic<bool> warned = false;

  std::shared_ptr<const Variant> find(const std::vector<Tensor>& arguments) const {
    thread_local std::vector<int64_t> symbols;
    const std::shared_lock lock(variants_mutex);
    for (const auto& variant : variants) {
      if (variant->guards.hold(arguments, symbols)) return variant;
    }
    return nullptr;
  }

  // The variant for these arguments, made if need be; null when there are too many.
  std::shared_ptr<const Variant> specialize(const std::vector<Tensor>& arguments) {
    const std::lock_guard capture(capture_mutex);
    if (auto variant = find(arguments)) return variant;  // another thread was faster
    if (variants.size() >= kMaxVariants) {
      if (!warned.exchange(true)) {
        log::warning(fmt::format(
            "weft::compile: {} has been specialized {} times, the most there may be; calls that match "
            "none run operator by operator",
            options.name, variants.size()));
      }
      return nullptr;
    }
    if (!variants.empty() && log::enabled(log::Channel::Recompiles)) {
      log::write(log::Channel::Recompiles,
                 fmt::format("{}: specialization {}: the arguments match none of the earlier ones",
                             options.name, variants.size() + 1));
    }
    auto variant = frontend::trace(function, arguments, history, options);
    if (variant->is_user_error) return nullptr;
    if (log::enabled(log::Channel::Guards)) {
      log::write(log::Channel::Guards, fmt::format("{}: specialization {}\n{}", options.name,
                                                   variants.size() + 1, variant->guards.str()));
    }
    const std::unique_lock lock(variants_mutex);
    variants.push_back(variant);
    return variant;
  }
};

CompiledFunction::CompiledFunction(Function function, CompileOptions options)
    : impl_(std::make_unique<Impl>()) {
  WEFT_CHECK(options.mode == "default" || options.mode == "reduce-overhead" || options.mode == "max-autotune",
             fmt::format("weft::compile: mode must be default, reduce-overhead or max-autotune, got '{}'",
                         options.mode));
  impl_->function = std::move(function);
  impl_->options = std::move(options);
}

CompiledFunction::~CompiledFunction() = default;

std::vector<Tensor> CompiledFunction::operator()(const std::vector<Tensor>& arguments) const {
  // Inside another trace this function is a part of that one.
  const bool plain =
      ops::current_tracer() || std::any_of(arguments.begin(), arguments.end(), [](const Tensor& tensor) {
        return !tensor.defined() || tensor.is_traced();
      });
  static const bool disabled = env::flag("WEFT_DISABLE_COMPILE");
  if (plain || disabled) return impl_->function(arguments);
  std::shared_ptr<const Variant> variant = impl_->find(arguments);
  if (!variant) variant = impl_->specialize(arguments);
  if (!variant || !variant->can_run(arguments)) return impl_->function(arguments);
  return variant->run(arguments);
}

size_t CompiledFunction::num_variants() const {
  const std::shared_lock lock(impl_->variants_mutex);
  return impl_->variants.size();
}

std::string CompiledFunction::explain() const {
  const std::shared_lock lock(impl_->variants_mutex);
  std::string text;
  for (size_t i = 0; i < impl_->variants.size(); ++i) {
    const Variant& variant = *impl_->variants[i];
    text += fmt::format("{} specialization {}\n{}", impl_->options.name, i + 1, variant.guards.str());
    if (!variant.compiled) {
      text += fmt::format("called as it is: {}\n", variant.why_plain);
      continue;
    }
    text += variant.graph->str() + variant.compiled->describe() + "\n";
    for (const compiler::KernelInfo& kernel : variant.compiled->kernels()) text += kernel.source + "\n";
  }
  return text;
}

}  // namespace weft::detail
