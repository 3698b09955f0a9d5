// weft::compile: a C++ function over tensors becomes fused kernels, compiled when first called.
//
//   auto assign = weft::compile([](Tensor x, Tensor means) {
//     Tensor difference = weft::sub(weft::unsqueeze(x, 1), means);
//     return weft::argmin(weft::sum(weft::mul(difference, difference), {2}), 1);
//   });
//   Tensor labels = assign(points, means);
//
// The function is run once with tensors that stand for values (a trace) for each set of guards: dtypes,
// devices, numbers of dimensions, sizes, and how the strides are laid out. A size that differs in a later
// call becomes symbolic, so that further sizes need no new trace. What the function reads besides its
// arguments is read at the trace: arrays it captures must not change afterwards. Control flow follows the
// trace; a function that needs elements of a traced tensor is called as it is, at every call.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft {

struct CompileOptions {
  std::string name = "function";  // in logs and in the names of dumped files
  // Symbolic sizes: from the first call (true), never (false), or from the second size seen on.
  std::optional<bool> dynamic = std::nullopt;
  // "default", "reduce-overhead" or "max-autotune": products are computed in the way that is measured to be
  // the fastest for their sizes, once, and kept beside compiled kernels. ValueError for another.
  std::string mode = "default";
  // What cannot be traced is an error rather than a plain call.
  bool fullgraph = false;
};

namespace detail {

// The engine under the template. Thread-safe.
class CompiledFunction {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  CompiledFunction(Function function, CompileOptions options);
  ~CompiledFunction();
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;

  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const;
  // Specializations made so far, those that are plain calls included.
  size_t num_variants() const;
  // Each variant's guards, graph and kernels, as text.
  std::string explain() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kMaxVariants = 8;

// What a function may return, to a list of tensors and back.
template <class R>
struct Result {
  static_assert(!sizeof(R),
                "weft::compile: a function returns a Tensor, a tuple, array or vector of them, or nothing");
};
template <>
struct Result<void> {
  static void unpack(const std::vector<Tensor>&) {}
};
template <>
struct Result<Tensor> {
  static std::vector<Tensor> pack(Tensor result) { return {std::move(result)}; }
  static Tensor unpack(std::vector<Tensor> list) { return std::move(list[0]); }
};
template <>
struct Result<std::vector<Tensor>> {
  static std::vector<Tensor> pack(std::vector<Tensor> result) { return result; }
  static std::vector<Tensor> unpack(std::vector<Tensor> list) { return list; }
};
template <class T>
struct FixedResult {
  static constexpr size_t size = std::tuple_size_v<T>;
  static std::vector<Tensor> pack(T result) {
    return std::apply([](auto&... tensors) { return std::vector<Tensor>{std::move(tensors)...}; }, result);
  }
  static T unpack(std::vector<Tensor> list) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return T{std::move(list[I])...};
    }(std::make_index_sequence<size>{});
  }
};
template <class... T>
struct Result<std::tuple<T...>> : FixedResult<std::tuple<T...>> {};
template <class A, class B>
struct Result<std::pair<A, B>> : FixedResult<std::pair<A, B>> {};
template <size_t N>
struct Result<std::array<Tensor, N>> : FixedResult<std::array<Tensor, N>> {};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Return = R;
  static constexpr size_t arity = sizeof...(A);
  static constexpr bool tensors_only = (std::is_same_v<std::remove_cvref_t<A>, Tensor> && ...);
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

}  // namespace detail

// A copy shares the variants.
template <class F>
class Compiled {
  using Signature = detail::Signature<F>;
  using Return = typename Signature::Return;
  static_assert(Signature::tensors_only, "weft::compile: every parameter is a Tensor");

 public:
  Compiled(F function, CompileOptions options)
      : engine_(std::make_shared<detail::CompiledFunction>(
            [function = std::move(function)](const std::vector<Tensor>& arguments) mutable {
              return call(function, arguments, std::make_index_sequence<Signature::arity>{});
            },
            std::move(options))) {}

  template <class... A>
  Return operator()(const A&... arguments) const {
    static_assert(sizeof...(A) == Signature::arity, "weft::compile: called with another number of arguments");
    return detail::Result<Return>::unpack((*engine_)({Tensor(arguments)...}));
  }

  size_t num_variants() const { return engine_->num_variants(); }
  std::string explain() const { return engine_->explain(); }

 private:
  template <size_t... I>
  static std::vector<Tensor> call(F& function, const std::vector<Tensor>& arguments,
                                  std::index_sequence<I...>) {
    if constexpr (std::is_void_v<Return>) {
      function(arguments[I]...);
      return {};
    } else {
      return detail::Result<Return>::pack(function(arguments[I]...));
    }
  }

  std::shared_ptr<detail::CompiledFunction> engine_;
};

template <class F>
Compiled<F> compile(F function, CompileOptions options = {}) {
  return Compiled<F>(std::move(function), std::move(options));
}

}  // namespace weft
