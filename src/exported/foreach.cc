// Operators on lists of tensors (_foreach_add.List): the operator itself for each of them.
#include <algorithm>
#include <array>
#include <deque>
#include <string_view>

#include "exported/graph_lowering.h"
#include "exported/lower.h"
#include "script/builtins/builtin.h"

namespace weft::exported {
namespace {

// Operators whose name or overload is another for one tensor.
struct OfOne {
  std::string_view name, overload;  // of lists
  const char *one, *one_overload;
};
constexpr std::array kOfOne = {
    OfOne{"maximum", "Scalar", "clamp_min", ""}, OfOne{"maximum", "ScalarList", "clamp_min", ""},
    OfOne{"minimum", "Scalar", "clamp_max", ""}, OfOne{"minimum", "ScalarList", "clamp_max", ""},
    OfOne{"maximum", "List", "maximum", ""},     OfOne{"minimum", "List", "minimum", ""},
    OfOne{"clamp_min", "Scalar", "clamp_min", ""}, OfOne{"clamp_min", "ScalarList", "clamp_min", ""},
    OfOne{"clamp_max", "Scalar", "clamp_max", ""}, OfOne{"clamp_max", "ScalarList", "clamp_max", ""},
    OfOne{"pow", "Scalar", "pow", "Tensor_Scalar"}, OfOne{"pow", "ScalarList", "pow", "Tensor_Scalar"},
    OfOne{"pow", "List", "pow", "Tensor_Tensor"}, OfOne{"pow", "ScalarAndTensor", "pow", "Scalar"},
    OfOne{"addcmul", "Scalar", "addcmul", ""},   OfOne{"addcmul", "ScalarList", "addcmul", ""},
    OfOne{"addcdiv", "Scalar", "addcdiv", ""},   OfOne{"addcdiv", "ScalarList", "addcdiv", ""},
    OfOne{"norm", "Scalar", "linalg_vector_norm", ""},
};

}  // namespace

std::optional<OperatorOfOne> operator_of_one(const std::string& name, const std::string& overload) {
  constexpr std::string_view prefix = "_foreach_";
  if (!name.starts_with(prefix)) return std::nullopt;
  OperatorOfOne result{name.substr(prefix.size()), overload.starts_with("Scalar") ? "Scalar"
                                                   : overload.empty()             ? ""
                                                                                  : "Tensor"};
  const bool is_inplace = result.name.ends_with('_');
  if (is_inplace) result.name.pop_back();
  for (const OfOne& other : kOfOne) {
    if (result.name != other.name || overload != other.overload) continue;
    result = {other.one, other.one_overload};
    break;
  }
  if (is_inplace) result.name += '_';
  return result;
}

bool GraphLowering::lower_foreach(const std::string& name, const std::string& overload,
                                  const std::vector<Argument>& arguments, const Json& outputs) {
  const std::optional<OperatorOfOne> found = operator_of_one(name, overload);
  if (!found) return false;
  const auto& [one, one_overload] = *found;
  const bool is_inplace = one.ends_with('_');
  // Tensors of numbers, one for each of a list, have no operator of one.
  const bool is_known = !(overload == "Tensor" && one.starts_with("addc")) &&
                        !jit::find_builtins("aten::" + one).empty();
  if (!is_known) {
    missing_.emplace("aten::" + name + (overload.empty() ? "" : "." + overload), "");
    bind_unknown(outputs);
    return true;
  }
  size_t count = 0;
  for (const Argument& argument : arguments) {
    const auto [kind, value] = choice(*argument.value, where_);
    if (kind == "as_tensors") count = std::max(count, items(value, where_).size());
  }
  const Json* made = nullptr;  // names of the results
  for (const Json& output : outputs) {
    const auto [kind, value] = choice(output, where_);
    if (kind == "as_tensors") made = &value;
  }
  if (made && items(*made, where_).size() != count) fail(where_ + ": as many results as tensors are expected");
  for (size_t i = 0; i < count; ++i) {
    std::deque<Json> parts;
    std::vector<Argument> operands;
    for (const Argument& argument : arguments) {
      const auto [kind, value] = choice(*argument.value, where_);
      const bool is_number = argument.name == "scalars" && one.starts_with("addc");
      const bool is_named = argument.name == "alpha" || argument.name == "value" || argument.name == "ord" ||
                            argument.name == "dtype" || argument.name == "non_blocking";
      const std::string called = is_number ? "value" : is_named ? argument.name : "";
      const std::string_view element = kind == "as_tensors"  ? "as_tensor"
                                       : kind == "as_floats" ? "as_float"
                                       : kind == "as_ints"   ? "as_int"
                                                             : "";
      if (element.empty()) {
        operands.push_back({called, argument.value});
        continue;
      }
      if (items(value, where_).size() != count) fail(where_ + ": lists of one length are expected");
      operands.push_back({called, &parts.emplace_back(Json{{element, items(value, where_)[i]}})});
    }
    Json results = Json::array();
    if (made && !is_inplace) results.push_back(Json{{"as_tensor", items(*made, where_)[i]}});
    lower_operator("aten::" + one, one_overload, operands, results);
    if (made && is_inplace) bind(text(items(*made, where_)[i], "name", where_), value_of(*operands[0].value, where_));
  }
  return true;
}

}  // namespace weft::exported
