// Any operator, with any operands and attributes, is refused with an error of the user's, or gives tensors of
// the types that its inference says.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/support.h"
#include "ops/registry.h"
#include "weft/allocator.h"
#include "weft/parallel.h"

namespace weft::fuzz {
namespace {

// The input as a stream of choices; zeros when it is used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  uint8_t byte() { return data_ == end_ ? uint8_t{0} : *data_++; }
  size_t below(size_t count) {
    const size_t wide = count > 256 ? size_t{byte()} << 8 : 0;
    return (wide + byte()) % count;
  }
  template <class T, size_t kCount>
  T one_of(const std::array<T, kCount>& values) {
    return values[below(kCount)];
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

constexpr std::array<int64_t, 24> kInts = {0,
                                           1,
                                           2,
                                           3,
                                           -1,
                                           -2,
                                           4,
                                           5,
                                           6,
                                           7,
                                           8,
                                           -3,
                                           16,
                                           17,
                                           33,
                                           100,
                                           -4,
                                           -7,
                                           64,
                                           65,
                                           12,
                                           -100,
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
constexpr std::array<double, 16> kFloats = {0.0,
                                            1.0,
                                            -1.0,
                                            0.5,
                                            1e-5,
                                            2.0,
                                            -0.5,
                                            3.0,
                                            0.1,
                                            -2.5,
                                            100.0,
                                            1e30,
                                            -1e30,
                                            std::numeric_limits<double>::infinity(),
                                            std::numeric_limits<double>::quiet_NaN(),
                                            -0.0};
constexpr std::array<const char*, 28> kTexts = {
    "none",     "mean",        "sum",      "max",       "prod",          "amin",   "amax", "tanh",
    "nearest",  "bilinear",    "bicubic",  "trilinear", "nearest-exact", "linear", "area", "reflect",
    "constant", "replicate",   "circular", "floor",     "trunc",         "relu",   "gelu", "ij,jk->ik",
    "ii->i",    "...i,i->...", "xy",       ""};

DType dtype_of(Choices& choices) {
  // Mostly the ones that programs use.
  constexpr std::array<DType, 6> kCommon = {DType::F32, DType::I64,  DType::Bool,
                                            DType::F64, DType::BF16, DType::F32};
  const uint8_t kind = choices.byte();
  return kind < 160 ? kCommon[kind % kCommon.size()] : static_cast<DType>(kind % kNumDTypes);
}

Shape shape_of(Choices& choices) {
  constexpr std::array<int64_t, 16> kSizes = {1, 2, 3, 4, 0, 5, 6, 7, 8, 1, 2, 3, 16, 17, 40, 65};
  Shape shape(choices.below(6));
  int64_t elements = 1;
  for (int64_t& size : shape) {
    size = choices.one_of(kSizes);
    if (elements * size > 600) size = 2;
    elements *= size;
  }
  return shape;
}

void fill(const Tensor& tensor, Choices& choices) {
  const uint8_t kind = choices.byte();
  auto* const bytes = static_cast<uint8_t*>(tensor.data());
  const size_t count = static_cast<size_t>(tensor.numel());
  if (kind % 8 == 7) {  // any bits
    for (size_t i = 0; i < count * static_cast<size_t>(itemsize(tensor.dtype())); ++i)
      bytes[i] = tensor.dtype() == DType::Bool ? i % 3 == 0 : static_cast<uint8_t>(kind + i * 37);
    return;
  }
  std::vector<int64_t> numbers(1 + choices.below(8));
  for (int64_t& number : numbers) number = kind % 2 == 0 ? choices.one_of(kInts) % 9 : choices.one_of(kInts);
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(numbers[(i * 7 + i / 3) % numbers.size()]) / (kind % 8 == 3 ? 3 : 1);
  tensor.copy_from(Tensor::of(values, tensor.shape()));
}

Tensor tensor_of(Choices& choices, const std::vector<Tensor>& before) {
  const uint8_t how = choices.byte();
  if (!before.empty() && how % 8 == 1) return before[how / 8 % before.size()];
  const bool is_like = !before.empty() && how % 8 < 5 && before.front().defined();
  const Shape shape = is_like && how % 2 == 0 ? before.front().shape() : shape_of(choices);
  const DType dtype = is_like ? before.front().dtype() : dtype_of(choices);
  Tensor made = Tensor::empty(shape, dtype);
  if (!is_stored_only(dtype))
    fill(made, choices);
  else
    std::memset(made.data(), 0x31, made.storage()->nbytes());
  if (how < 128 || shape.empty()) return made;
  // A view: axes exchanged, every second element, one value many times.
  Shape sizes = shape;
  Strides strides = made.strides();
  const size_t a = choices.below(sizes.size()), b = choices.below(sizes.size());
  switch (how % 3) {
    case 0:
      std::swap(sizes[a], sizes[b]);
      std::swap(strides[a], strides[b]);
      break;
    case 1:
      sizes[a] = (sizes[a] + 1) / 2;
      strides[a] *= 2;
      break;
    default:
      if (sizes[a] > 0) strides[a] = 0;
  }
  return made.as_strided(sizes, strides, 0);
}

ops::Attr attribute_of(const ops::Param& param, Choices& choices) {
  using Type = ops::Param::Type;
  const uint8_t how = choices.byte();
  if (param.optional && how % 4 == 0) return std::monostate();
  switch (param.type) {
    case Type::Bool: return how % 2 == 0;
    case Type::Int: return Sym(choices.one_of(kInts));
    case Type::Float: return choices.one_of(kFloats);
    case Type::Scalar: return how % 2 == 0 ? Scalar(choices.one_of(kInts)) : Scalar(choices.one_of(kFloats));
    case Type::String: return std::string(choices.one_of(kTexts));
    case Type::DType: return dtype_of(choices);
    case Type::Device: return Device();
    case Type::IntList: {
      SymShape list(choices.below(5));
      for (Sym& number : list) number = choices.one_of(kInts);
      return list;
    }
    case Type::Tensor:
    case Type::TensorList: break;
  }
  return std::monostate();
}

ops::OpArgs arguments_of(const ops::OpDef& op, Choices& choices) {
  ops::OpArgs args;
  for (const ops::Param& param : op.params) {
    if (param.type == ops::Param::Type::Tensor) {
      args.tensors.push_back(param.optional && choices.byte() % 2 == 0 ? Tensor()
                                                                       : tensor_of(choices, args.tensors));
    } else if (param.type == ops::Param::Type::TensorList) {
      const size_t count = param.list_length >= 0 ? static_cast<size_t>(param.list_length) : choices.below(4);
      for (size_t i = 0; i < count; ++i) args.tensors.push_back(tensor_of(choices, args.tensors));
    } else if (!param.has_default || choices.byte() % 2 == 0) {
      args.attrs.set(param.name, attribute_of(param, choices));
    }
  }
  args.rules = choices.byte() % 2 == 0 ? Promotion::Torch : Promotion::NumPy;
  return args;
}

[[noreturn]] void fail(const ops::OpDef& op, const std::string& what) {
  std::fprintf(stderr, "%s%s: %s\n", op.name.c_str(), op.schema.c_str(), what.c_str());
  std::abort();
}

// Reads every byte that a result claims to have.
void read(const Tensor& tensor) {
  if (tensor.defined() && tensor.numel() > 0) tensor.clone();
}

void check_types(const ops::OpDef& op, const ops::OpArgs& args, const std::vector<Tensor>& results) {
  std::vector<ops::TensorType> operands;
  for (const Tensor& tensor : args.tensors)
    operands.push_back(tensor.defined() ? ops::type_of(tensor) : ops::TensorType{.absent = true});
  ops::Attrs attrs = args.attrs;
  for (const ops::Param& param : op.params)
    if (!param.is_tensor() && attrs.find(param.name) == nullptr) attrs.set(param.name, param.default_value);
  const std::vector<ops::TensorType> types = ops::infer(op, operands, attrs);
  if (types.size() != results.size())
    fail(op, fmt::format("{} results, {} inferred", results.size(), types.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string found = ops::type_of(results[i]).str(), inferred = types[i].str();
    if (found != inferred) fail(op, fmt::format("result {} is {}, inferred {}", i, found, inferred));
  }
}

void run(const ops::OpDef& op, Choices& choices) {
  const ops::OpArgs args = arguments_of(op, choices);
  if (std::getenv("FUZZ_SHOW") != nullptr) {
    std::fprintf(stderr, "%s%s\n", op.name.c_str(), op.schema.c_str());
    for (const Tensor& tensor : args.tensors)
      std::fprintf(stderr, "  %s\n",
                   tensor.defined() ? fmt::format("{} strides [{}]", ops::type_of(tensor).str(),
                                                  fmt::join(tensor.strides(), ", "))
                                          .c_str()
                                    : "none");
    for (const auto& [name, value] : args.attrs.items())
      std::fprintf(stderr, "  %s=%s\n", std::string(name).c_str(), ops::str(value).c_str());
  }
  accepts([&] {
    ops::OpArgs given = args;
    const std::vector<Tensor> results = ops::call(op, std::move(given));
    for (const Tensor& result : results) read(result);
    if (op.kind != ops::OpKind::Composite) check_types(op, args, results);
  });
  if (op.kind != ops::OpKind::Pointwise && !op.promotes) return;
  accepts([&] {
    std::vector<ops::Operand> operands;
    for (const Tensor& tensor : args.tensors) {
      if (choices.byte() % 4 == 0)
        operands.emplace_back(Scalar(choices.one_of(kFloats)));
      else
        operands.emplace_back(tensor);
    }
    read(ops::invoke(op, operands, args.attrs, args.rules));
  });
}

}  // namespace
}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  static const std::vector<const ops::OpDef*> operators = [] {
    std::vector<const ops::OpDef*> found;
    const char* const wanted = std::getenv("FUZZ_OPERATOR");
    for (const auto& [name, op] : ops::all_ops())
      if (wanted == nullptr || name == wanted) found.push_back(op);
    return found;
  }();
  fuzz::Choices choices(data, size);
  set_num_threads(1 + choices.byte() % 2);
  fuzz::run(*operators[choices.below(operators.size())], choices);
  return 0;
}
