// TorchScript's builtin operators by schema: "aten::", "prim::" and the archive's spellings of Python's own.
//
//   builtin("aten::relu(Tensor self) -> Tensor", [](const Tensor& self) { return relu(self); });
//
// A definition's function takes the schema's arguments in order, as C++ values, and returns its returns:
// Tensor, int64_t, double, bool, std::string, IValue, std::vector<…>, std::tuple<…>, or nothing.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "weft/jit/schema.h"

namespace weft::jit {

// `arguments` may be moved from. Results are written to `results`, as many as the schema's returns.
using BuiltinFn = void (*)(std::span<IValue> arguments, IValue* results);

struct Builtin : ir::ScriptOp {
  std::string qualified;  // "aten::add", where `name` looks
  std::string overload;   // "Tensor"
  std::string text;       // of the schema
  Schema schema;          // there once the builtin has been found by name
  BuiltinFn run = nullptr;
  // No effect but its results, and not random: may be folded, removed, reordered, compiled.
  bool is_pure = true;
};

// Adds to the table, during static initialization or, under a new name, later; `schema` must live on.
// In-place builtins (an argument with (a!)) are not pure.
const Builtin& register_builtin(std::string_view schema, BuiltinFn run, bool is_pure = true);
// "aten::add": its overloads, in the order of registration; empty when there is none.
std::span<const Builtin* const> find_builtins(std::string_view name);
// By name and overload, "aten::add.Tensor"; null when absent.
const Builtin* find_builtin(std::string_view name_and_overload);
std::vector<std::string> all_builtin_names();

namespace detail {

template <class T>
struct Convert;  // IValue to T
template <>
struct Convert<Tensor> {
  static const Tensor& from(IValue& v) { return v.to_tensor(); }
};
template <>
struct Convert<int64_t> {
  static int64_t from(IValue& v) { return v.to_int(); }
};
template <>
struct Convert<double> {
  static double from(IValue& v) { return v.to_double(); }
};
template <>
struct Convert<bool> {
  static bool from(IValue& v) { return v.to_bool(); }
};
template <>
struct Convert<std::complex<double>> {
  static std::complex<double> from(IValue& v) { return v.to_complex(); }
};
template <>
struct Convert<Scalar> {
  static Scalar from(IValue& v) { return v.to_scalar(); }
};
template <>
struct Convert<std::string> {
  static const std::string& from(IValue& v) { return v.to_string(); }
};
template <>
struct Convert<DType> {
  static DType from(IValue& v) { return v.to_dtype(); }
};
template <>
struct Convert<Device> {
  static Device from(IValue& v) { return v.to_device(); }
};
template <>
struct Convert<IValue> {
  static IValue& from(IValue& v) { return v; }
};
template <>
struct Convert<std::vector<int64_t>> {
  static std::vector<int64_t> from(IValue& v) { return v.to_int_list(); }
};
template <>
struct Convert<std::vector<double>> {
  static std::vector<double> from(IValue& v) { return v.to_double_list(); }
};
template <>
struct Convert<std::vector<Tensor>> {
  static std::vector<Tensor> from(IValue& v) { return v.to_tensor_list(); }
};
template <>
struct Convert<std::shared_ptr<List>> {
  static const std::shared_ptr<List>& from(IValue& v) { return v.to_list(); }
};
template <>
struct Convert<std::shared_ptr<Dict>> {
  static const std::shared_ptr<Dict>& from(IValue& v) { return v.to_dict(); }
};
template <class T>
struct Convert<std::optional<T>> {
  static std::optional<T> from(IValue& v) {
    if (v.is_none()) return std::nullopt;
    return Convert<T>::from(v);
  }
};

template <class R>
void store(R&& value, IValue* results) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, IValue>)
    results[0] = std::forward<R>(value);
  else if constexpr (std::is_integral_v<T>)
    results[0] = IValue(static_cast<int64_t>(value));
  else
    results[0] = IValue(std::forward<R>(value));
}
template <class... T>
void store(std::tuple<T...>&& values, IValue* results) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (store(std::get<I>(std::move(values)), results + I), ...);
  }(std::index_sequence_for<T...>{});
}

template <class F>
struct CallableTraits : CallableTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct CallableTraits<R (C::*)(A...) const> {
  using Return = R;
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};

template <class F>
void call_builtin(std::span<IValue> arguments, IValue* results) {
  using Traits = CallableTraits<F>;
  using Arguments = typename Traits::Arguments;
  [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (std::is_void_v<typename Traits::Return>) {
      F{}(Convert<std::tuple_element_t<I, Arguments>>::from(arguments[I])...);
    } else {
      store(F{}(Convert<std::tuple_element_t<I, Arguments>>::from(arguments[I])...), results);
    }
  }(std::make_index_sequence<std::tuple_size_v<Arguments>>{});
}

}  // namespace detail

// The lambda must not capture.
template <class F>
const Builtin& builtin(std::string_view schema, F, bool is_pure = true) {
  return register_builtin(schema, &detail::call_builtin<F>, is_pure);
}

}  // namespace weft::jit
