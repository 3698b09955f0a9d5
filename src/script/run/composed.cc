// Builtins whose definition is a function of python/weft/_composed/: the text of these files, read by
// TorchScript's own front end. Above each function stands the schema of the builtin that it is:
//
//   @aten("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
//   def mode(input: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
// "quantized_decomposed::…" is a builtin of that namespace. @aten_("…") makes the in-place builtin beside it. All arguments are passed, in order. A function is
// compiled at its first call. Besides TorchScript's names it has _weft, whose members are aten's builtins and
// those under weft:: here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "script/builtins/aten.h"
#include "script/emit/emit.h"
#include "script/program/function.h"
#include "script/run/interpreter.h"
#include "script/syntax/parser.h"

namespace weft::jit::composed {
namespace {

struct File {
  std::string_view name, text;
};
constexpr File kFiles[] = {
#include "embedded/composed.inc"
};

// ---- names -----------------------------------------------------------------------------------------------
class WeftSugar final : public SugaredValue {
 public:
  std::string kind() const override { return "module '_weft'"; }
  SugaredPtr attribute(Emitter&, const Range& range, const std::string& name) override {
    return constant_attribute(range, name);
  }
  SugaredPtr constant_attribute(const Range&, const std::string& name) override {
    if (!find_builtins("weft::" + name).empty()) return std::make_shared<BuiltinSugar>("weft::" + name);
    return resolve_namespace_member("torch", name);
  }
};

class ComposedResolver final : public Resolver {
 public:
  explicit ComposedResolver(CompilationUnit& unit) : unit_(unit) {}
  SugaredPtr resolve_value(const std::string& name, const Range&) override {
    if (name == "_weft") return std::make_shared<WeftSugar>();
    std::shared_ptr<Function> function = unit_.find_function(name);
    return function ? std::make_shared<FunctionSugar>(std::vector{std::move(function)}) : nullptr;
  }
  TypePtr resolve_type(const std::string&, const Range&) override { return nullptr; }

 private:
  CompilationUnit& unit_;  // owns this
};

class ComposedFunctions final : public Definitions {
 public:
  explicit ComposedFunctions(CompilationUnit& unit)
      : unit_(unit), resolver_(std::make_shared<ComposedResolver>(unit)) {
    for (const File& file : kFiles) {
      auto source = std::make_shared<Source>();
      source->text = file.text;
      source->file = fmt::format("weft/_composed/{}", file.name);
      const auto body = std::make_shared<const Body>(parse_source(std::move(source)));
      for (const StmtPtr& statement : *body) {
        const auto* def = statement->as<Stmt::Def>();
        if (!def) continue;
        const std::string& name = def->function.name;
        WEFT_ASSERT(!definitions_.contains(name), fmt::format("two composed functions are named '{}'", name));
        definitions_[name] = std::shared_ptr<const FunctionDef>(body, &def->function);
      }
    }
  }
  TypePtr load_type(const std::string&) override { return nullptr; }
  std::shared_ptr<Function> load_function(const std::string& name) override {
    const auto found = definitions_.find(name);
    return found == definitions_.end() ? nullptr : define_function(unit_, name, found->second, resolver_);
  }

 private:
  CompilationUnit& unit_;  // owns this
  std::shared_ptr<Resolver> resolver_;
  std::map<std::string, std::shared_ptr<const FunctionDef>> definitions_;
};

FunctionImpl& composed_function(const std::string& name) {
  static const auto& unit = *new std::shared_ptr<CompilationUnit>(CompilationUnit::create(
      [](CompilationUnit& made) { return std::make_unique<ComposedFunctions>(made); }));
  const std::shared_ptr<Function> found = unit->find_function(name);
  WEFT_ASSERT(found, fmt::format("python/weft/_composed/ has no function '{}'", name));
  return found->impl();
}

// ---- builtins --------------------------------------------------------------------------------------------
// A builtin is run by a plain function, so each has one.
constexpr size_t kMost = 256;
struct Composed {
  std::string_view function;
  std::string schema;
};
std::array<Composed, kMost>& all_composed() {
  static auto& all = *new std::array<Composed, kMost>;
  return all;
}

bool has_namespace(std::string_view schema) { return schema.substr(0, schema.find('(')).find("::") != schema.npos; }

// The builtin's arguments as its function's: those of a parameter's name go there, the others to the
// parameter in their place; an argument that has none is left out, a parameter that gets none has its
// default.
struct Call {
  explicit Call(const Composed& composed) : function(composed_function(std::string(composed.function))) {
    const Schema schema = parse_schema(has_namespace(composed.schema) ? composed.schema : "aten::" + composed.schema);
    const std::vector<SchemaArgument>& parameters = function.schema.arguments;
    num_results = schema.returns.size();
    for (const SchemaArgument& parameter : parameters)
      defaults.push_back(parameter.default_value.value_or(IValue()));
    std::vector<bool> is_given(parameters.size());
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const auto named = std::find_if(parameters.begin(), parameters.end(), [&](const SchemaArgument& each) {
        return each.name == schema.arguments[i].name;
      });
      size_t place = static_cast<size_t>(named - parameters.begin());
      if (named == parameters.end() && i < parameters.size() && !schema.arguments[i].keyword_only &&
          !schema.find(parameters[i].name))
        place = i;
      places.push_back(place);
      is_in_order = is_in_order && place == i;
      if (place >= parameters.size()) continue;
      WEFT_ASSERT(schema.arguments[i].type->is_subtype_of(*parameters[place].type),
                  fmt::format("{}: '{}' is of another type", composed.schema, parameters[place].name));
      is_given[place] = true;
    }
    is_in_order = is_in_order && places.size() == parameters.size();
    for (size_t i = 0; i < parameters.size(); ++i)
      WEFT_ASSERT(is_given[i] || parameters[i].default_value,
                  fmt::format("{}: nothing gives '{}'", composed.schema, parameters[i].name));
  }
  IValue operator()(std::span<IValue> arguments) const {
    if (is_in_order) return run_code(code_of(function), arguments);
    std::vector<IValue> values = defaults;
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i] < values.size()) values[places[i]] = std::move(arguments[i]);
    return run_code(code_of(function), values);
  }

  FunctionImpl& function;
  std::vector<size_t> places;  // of the builtin's arguments among the function's
  std::vector<IValue> defaults;
  bool is_in_order = true;
  size_t num_results = 1;
};

template <size_t Number>
void run_composed(std::span<IValue> arguments, IValue* results) {
  static const auto& call = *new Call(all_composed()[Number]);
  IValue result = call(arguments);
  if (call.num_results == 1) {
    results[0] = std::move(result);
  } else {
    for (size_t i = 0; i < call.num_results; ++i) results[i] = result.elements().at(i);
  }
}
template <size_t... Numbers>
constexpr std::array<BuiltinFn, kMost> numbered(std::index_sequence<Numbers...>) {
  return {&run_composed<Numbers>...};
}
template <size_t... Numbers>
constexpr std::array<BuiltinFn, kMost> numbered_inplace(std::index_sequence<Numbers...>) {
  return {&aten::run_inplace<&run_composed<Numbers>>...};
}
constexpr auto kRun = numbered(std::make_index_sequence<kMost>{});
constexpr auto kRunInplace = numbered_inplace(std::make_index_sequence<kMost>{});

// The words of string literals up to the parenthesis that ends them.
std::string joined_literals(std::string_view text) {
  std::string joined;
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == ')') break;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (quote != 0) {
      joined += c;
    }
  }
  return joined;
}

void register_file(const File& file, size_t& count) {
  for (size_t at = file.text.find("\n@aten"); at != std::string_view::npos;
       at = file.text.find("\n@aten", at + 1)) {
    const bool has_inplace = file.text[at + 6] == '_';
    const std::string schema = joined_literals(file.text.substr(at + 6));
    const size_t name = file.text.find("\ndef ", at) + 5;
    WEFT_ASSERT(count < kMost, "more composed builtins than functions that run them");
    all_composed()[count] = {file.text.substr(name, file.text.find('(', name) - name), schema};
    if (has_namespace(schema))
      register_builtin(all_composed()[count].schema, kRun[count]);
    else if (has_inplace)
      aten::define_functions(schema, kRun[count], kRunInplace[count]);
    else
      aten::define_function(schema, kRun[count]);
    ++count;
  }
}

// weft's operator of this name, which aten has not, or not so.
template <aten::Name kName>
void own(std::string_view signature) {
  register_builtin(fmt::format("weft::{}{}", kName.text, signature), &aten::forward_to<kName>);
}

[[maybe_unused]] const bool kBuiltins = [] {
  size_t count = 0;
  for (const File& file : kFiles) register_file(file, count);
  own<"batch_norm">(
      "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
      "bool training=False, "
      "float momentum=0.1, float eps=1e-5) -> Tensor");
  own<"bitcast">("(Tensor x, ScalarType dtype) -> Tensor");
  own<"cdist">("(Tensor x, Tensor y, float p=2.0) -> Tensor");
  own<"complex">("(Tensor real, Tensor imag) -> Tensor");
  own<"diff">("(Tensor x, int n=1, int dim=-1) -> Tensor");
  own<"eigh">("(Tensor x, bool upper=False) -> (Tensor, Tensor)");
  own<"eigvalsh">("(Tensor x, bool upper=False) -> Tensor");
  own<"embedding_bag">(
      "(Tensor input, Tensor weight, Tensor? offsets=None, str mode='mean', Tensor? per_sample_weights=None, "
      "bool "
      "include_last_offset=False, int? padding_idx=None) -> Tensor");
  own<"fft_c2c">("(Tensor x, int n, int dim, int norm, bool inverse=False) -> Tensor");
  own<"fft_c2r">("(Tensor x, int n, int dim, int norm) -> Tensor");
  own<"fft_r2c">("(Tensor x, int n, int dim, int norm, bool onesided=True) -> Tensor");
  own<"index_put">("(Tensor x, Tensor values, Tensor[] indices, *, bool accumulate=False) -> Tensor");
  own<"linear_dynamic_int8">("(Tensor x, Tensor weight, Tensor scales, Tensor? bias=None) -> Tensor");
  own<"linear_packed">(
      "(Tensor x, Tensor weight, Tensor? scales=None, Tensor? bias=None, Tensor? residual=None, *, int group_size=0) "
      "-> Tensor");
  own<"lu_factor">("(Tensor x, bool check=False) -> (Tensor, Tensor, Tensor)");
  own<"lu_solve">("(Tensor factors, Tensor pivots, Tensor b, bool adjoint=False) -> Tensor");
  own<"median_dim">("(Tensor x, int dim, bool keepdim=False) -> (Tensor, Tensor)");
  own<"nan_to_num">("(Tensor x, float nan=0.0, float? posinf=None, float? neginf=None) -> Tensor");
  own<"nanmedian_dim">("(Tensor x, int dim, bool keepdim=False) -> (Tensor, Tensor)");
  own<"pad">("(Tensor input, int[] pad, str mode='constant', Scalar? value=None) -> Tensor");
  own<"require">("(Tensor x, Tensor condition, *, str error) -> Tensor");
  own<"scatter_combine">("(Tensor x, int dim, Tensor index, Tensor src, str reduce) -> Tensor");
  own<"searchsorted">("(Tensor sorted_sequence, Tensor values, *, bool right=False) -> Tensor");
  own<"solve_triangular">("(Tensor a, Tensor b, bool upper, bool unitriangular=False) -> Tensor");
  own<"svd">("(Tensor x, bool full_matrices=True) -> (Tensor, Tensor, Tensor)");
  own<"svdvals">("(Tensor x) -> Tensor");
  own<"tensordot">("(Tensor x, Tensor y, int dims=2, *, int[]? dims_x=None, int[]? dims_y=None) -> Tensor");
  own<"vector_norm">(
      "(Tensor x, float ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor");
  return true;
}();

}  // namespace
}  // namespace weft::jit::composed
