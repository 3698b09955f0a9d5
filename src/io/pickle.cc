// Pickle as torch.jit.save and torch.save write it: protocol 2, the opcodes that PyTorch's own reader knows.
#include "io/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <unordered_map>

#include "core/backend.h"
#include "core/quantized.h"
#include "io/pickle_opcodes.h"
#include "values/nesting.h"
#include "weft/error.h"

namespace weft::jit {

namespace {

constexpr size_t kMaxDepth = 1000;

[[noreturn]] void fail(std::string message) {
  throw_error(ErrorKind::Value, "pickle: " + std::move(message));
}

// Name of torch's storage class; untyped for the dtypes that came after the classes.
const char* storage_type(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "BoolStorage";
    case DType::U8: return "ByteStorage";
    case DType::I8: return "CharStorage";
    case DType::I16: return "ShortStorage";
    case DType::I32: return "IntStorage";
    case DType::I64: return "LongStorage";
    case DType::F16: return "HalfStorage";
    case DType::BF16: return "BFloat16Storage";
    case DType::F32: return "FloatStorage";
    case DType::F64: return "DoubleStorage";
    case DType::C64: return "ComplexFloatStorage";
    case DType::C128: return "ComplexDoubleStorage";
    case DType::QI8: return "QInt8Storage";
    case DType::QU8: return "QUInt8Storage";
    case DType::QI32: return "QInt32Storage";
    case DType::QU4x2: return "QUInt4x2Storage";
    case DType::U16:
    case DType::U32:
    case DType::U64:
    default: break;
  }
  return nullptr;
}

// The function that types a list of its own; null: restore_type_tag.
const char* list_builder(const Type& element) {
  switch (element.kind()) {
    case TypeKind::Int: return "build_intlist";
    case TypeKind::Float: return "build_doublelist";
    case TypeKind::Bool: return "build_boollist";
    case TypeKind::Tensor: return "build_tensorlist";
    default: return nullptr;
  }
}

class Pickler {
 public:
  Pickler(ArchiveWriter& archive, const PickleOptions& options) : archive_(archive), options_(options) {}

  std::string run(const IValue& value) {
    put(Opcode::Proto);
    put_bytes<uint8_t>(2);
    check_nesting(value, kMaxDepth);
    write(value, 0);
    put(Opcode::Stop);
    return std::move(out_);
  }

 private:
  void put(Opcode opcode) { out_ += static_cast<char>(opcode); }
  template <class T>
  void put_bytes(T value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    out_.append(bytes.begin(), bytes.end());
  }

  // ---- the memo ----------------------------------------------------------------------------------------
  void put_index(Opcode short_form, Opcode long_form, size_t index) {
    if (index <= UINT8_MAX) {
      put(short_form);
      put_bytes(static_cast<uint8_t>(index));
    } else {
      put(long_form);
      put_bytes(static_cast<uint32_t>(index));
    }
  }
  template <class Map, class Key>
  bool recall(const Map& memo, const Key& key) {
    const auto found = memo.find(key);
    if (found == memo.end()) return false;
    put_index(Opcode::BinGet, Opcode::LongBinGet, found->second);
    return true;
  }
  template <class Map, class Key>
  void remember(Map& memo, const Key& key) {
    put_index(Opcode::BinPut, Opcode::LongBinPut, num_memoized_);
    memo.emplace(key, num_memoized_++);
  }

  // ---- plain values ------------------------------------------------------------------------------------
  void write_int(int64_t value) {
    if (value >= 0 && value <= UINT8_MAX) {
      put(Opcode::BinInt1);
      put_bytes(static_cast<uint8_t>(value));
    } else if (value >= 0 && value <= UINT16_MAX) {
      put(Opcode::BinInt2);
      put_bytes(static_cast<uint16_t>(value));
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      put(Opcode::BinInt);
      put_bytes(static_cast<int32_t>(value));
    } else {
      put(Opcode::Long1);
      put_bytes<uint8_t>(sizeof(value));
      put_bytes(value);
    }
  }

  void write_float(double value) {
    put(Opcode::BinFloat);
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) out_ += static_cast<char>(bits >> shift);
  }

  void write_string(const std::string& text) {
    if (recall(strings_, text)) return;
    if (text.size() > UINT32_MAX) fail(fmt::format("a str of {} bytes is too long", text.size()));
    put(Opcode::BinUnicode);
    put_bytes(static_cast<uint32_t>(text.size()));
    out_ += text;
    remember(strings_, text);
  }

  void write_global(const std::string& module, const std::string& name) {
    const std::string line = module + "\n" + name + "\n";
    if (recall(globals_, line)) return;
    put(Opcode::Global);
    out_ += line;
    remember(globals_, line);
  }
  void write_qualified(const std::string& name) {
    const size_t dot = name.rfind('.');
    if (dot == name.npos) fail(fmt::format("the class '{}' has no module", name));
    write_global(name.substr(0, dot), name.substr(dot + 1));
  }

  std::string type_text(const TypePtr& type) const {
    return options_.type_text ? options_.type_text(type) : type->str();
  }

  void write_complex(std::complex<double> value) {
    write_global("builtins", "complex");
    write_float(value.real());
    write_float(value.imag());
    put(Opcode::Tuple2);
    put(Opcode::Reduce);
  }

  void write_device(const Device& device) {
    write_global("torch", "device");
    write_string(device.str());
    put(Opcode::Tuple1);
    put(Opcode::Reduce);
  }

  // ---- tensors -----------------------------------------------------------------------------------------
  // Puts the whole storage into the archive once, under a number for each dtype it is seen with.
  std::string storage_key(const std::shared_ptr<Storage>& storage, DType dtype) {
    const auto [found, is_new] = storages_.try_emplace({storage.get(), dtype}, storages_.size());
    if (is_new) {
      const size_t nbytes = storage->nbytes() - storage->nbytes() % static_cast<size_t>(itemsize(dtype));
      const auto whole = nbytes == storage->nbytes()
                             ? storage
                             : Storage::wrap(storage->data(), nbytes, [owner = storage] {});
      archive_.add(fmt::format("{}/{}", options_.storages, found->second), whole);
      kept_.push_back(storage);
    }
    return fmt::format("{}", found->second);
  }

  void write_storage(const Tensor& tensor) {
    const DType dtype = tensor.dtype();
    const char* type = storage_type(dtype);
    const std::string key = storage_key(tensor.storage(), dtype);
    put(Opcode::Mark);
    write_string("storage");
    write_global(type ? "torch" : "torch.storage", type ? type : "UntypedStorage");
    write_string(key);
    write_string("cpu");
    const size_t count = tensor.storage()->nbytes() / static_cast<size_t>(itemsize(dtype));
    write_int(static_cast<int64_t>(type ? count : count * static_cast<size_t>(itemsize(dtype))));
    put(Opcode::Tuple);
    put(Opcode::BinPersId);
  }

  void write_ints(const std::vector<int64_t>& values) {
    put(Opcode::Mark);
    for (const int64_t value : values) write_int(value);
    put(Opcode::Tuple);
  }

  // (scheme, scale, zero point), or (scheme, scales, zero points, axis)
  void write_quantizer(const Quantizer& quantizer) {
    put(Opcode::Mark);
    write_global("torch", std::string(scheme_name(quantizer)));
    if (quantizer.is_per_channel()) {
      const QuantizerTensors tensors = tensors_of(quantizer);
      for (const Tensor& tensor : {tensors.scales, tensors.zero_points}) {
        kept_tensors_.push_back(tensor);  // addresses stay taken
        write_tensor(tensor);
      }
      write_int(quantizer.axis);
    } else {
      write(quantizer.scales[0], 0);
      write_int(static_cast<int64_t>(quantizer.zero_points[0]));
    }
    put(Opcode::Tuple);
  }

  void write_quantized(const Tensor& original, const Tensor& tensor) {
    if (!tensor.quantizer()) fail("a quantized tensor without a scale");
    Tensor stored = tensor;
    if (tensor.dtype() == DType::QU4x2) {  // bytes of two numbers each
      stored = of_integers(pack_nibbles(as_integers(tensor)), DType::QU4x2, tensor.quantizer());
      kept_tensors_.push_back(stored);
    }
    write_global("torch._utils", "_rebuild_qtensor");
    put(Opcode::Mark);
    write_storage(stored);
    write_int(stored.offset());
    write_ints(tensor.shape());
    write_ints(tensor.dtype() == DType::QU4x2 ? contiguous_strides(tensor.shape()) : tensor.strides());
    write_quantizer(*tensor.quantizer());
    put(Opcode::NewFalse);  // requires_grad
    write_global("collections", "OrderedDict");
    put(Opcode::EmptyTuple);
    put(Opcode::Reduce);
    put(Opcode::Tuple);
    put(Opcode::Reduce);
    remember(addresses_, original.impl().get());
  }

  void write_tensor(const Tensor& original) {
    if (!original.defined()) fail("an undefined tensor");
    if (recall(addresses_, original.impl().get())) return;
    if (original.is_traced()) fail("a tensor of a function that is being captured has no elements");
    if (!is_on_host(original.device()))
      fail(fmt::format("expected a tensor on the cpu, got {}", describe(original)));
    const bool is_reversed =
        std::any_of(original.strides().begin(), original.strides().end(), [](int64_t s) { return s < 0; });
    const Tensor tensor = is_reversed ? original.clone() : original;  // PyTorch has no negative strides
    if (is_quantized(tensor.dtype())) return write_quantized(original, tensor);
    const bool is_typed = storage_type(tensor.dtype()) != nullptr;
    write_global("torch._utils", is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    put(Opcode::Mark);
    write_storage(tensor);
    write_int(tensor.offset());
    write_ints(tensor.shape());
    write_ints(tensor.strides());
    put(Opcode::NewFalse);  // requires_grad
    write_global("collections", "OrderedDict");
    put(Opcode::EmptyTuple);
    put(Opcode::Reduce);
    if (!is_typed) write_global("torch", std::string(name(tensor.dtype())));
    put(Opcode::Tuple);
    put(Opcode::Reduce);
    remember(addresses_, original.impl().get());
  }

  // ---- containers --------------------------------------------------------------------------------------
  void write_list(const List& list, int depth) {
    const char* builder = options_.type_tags ? list_builder(*list.element) : nullptr;
    if (builder) {
      write_global("torch.jit._pickle", builder);
      put(Opcode::Mark);
    } else if (options_.type_tags) {
      write_global("torch.jit._pickle", "restore_type_tag");
    }
    put(Opcode::EmptyList);
    put(Opcode::Mark);
    for (const IValue& value : list.values) write(value, depth);
    put(Opcode::Appends);
    if (builder) {
      put(Opcode::Tuple);
      put(Opcode::Reduce);
    } else {
      write_type_tag("List[" + type_text(list.element) + "]");
    }
  }

  void write_dict(const Dict& dict, int depth) {
    if (options_.type_tags) write_global("torch.jit._pickle", "restore_type_tag");
    put(Opcode::EmptyDict);
    put(Opcode::Mark);
    for (const auto& [key, value] : dict.items()) {
      write(key, depth);
      write(value, depth);
    }
    put(Opcode::SetItems);
    write_type_tag(fmt::format("Dict[{}, {}]", type_text(dict.key), type_text(dict.value)));
  }

  void write_type_tag(const std::string& type) {
    if (!options_.type_tags) return;
    write_string(type);
    put(Opcode::Tuple2);
    put(Opcode::Reduce);
  }

  void write_tuple(const Tuple& tuple, int depth) {
    constexpr Opcode kShort[] = {Opcode::EmptyTuple, Opcode::Tuple1, Opcode::Tuple2, Opcode::Tuple3};
    const bool is_short = tuple.values.size() < std::size(kShort);
    if (!is_short) put(Opcode::Mark);
    for (const IValue& value : tuple.values) write(value, depth);
    put(is_short ? kShort[tuple.values.size()] : Opcode::Tuple);
  }

  void write_object(const std::shared_ptr<Object>& object, int depth) {
    const ClassType& type = *object->type;
    if (!options_.type_tags)
      fail(fmt::format("an object of {} is written by weft.jit.save only", type.name()));
    write_qualified(type_text(object->type));
    put(Opcode::EmptyTuple);
    put(Opcode::NewObj);
    if (std::optional<IValue> state = options_.get_state ? options_.get_state(object) : std::nullopt) {
      check_nesting(*state, kMaxDepth);
      states_.push_back(*state);  // its addresses are in the memo
      write(*state, depth);
    } else {
      put(Opcode::EmptyDict);
      put(Opcode::Mark);
      for (size_t slot = 0; slot < type.attributes().size(); ++slot) {
        write_string(type.attributes()[slot].name);
        write(object->slots.at(slot), depth);
      }
      put(Opcode::SetItems);
    }
    put(Opcode::Build);
  }

  void write_enum(const EnumValue& value, int depth) {
    if (!options_.type_tags)
      fail(fmt::format("the enum {} is written by weft.jit.save only", value.type->name()));
    write_qualified(type_text(value.type));
    write(value.value, depth);
    put(Opcode::Reduce);
  }

  void write_container(const IValue& value, int depth) {
    const void* address = container_address(value);
    if (recall(addresses_, address)) return;
    switch (value.tag()) {
      case IValue::Tag::List: write_list(*value.to_list(), depth); break;
      case IValue::Tag::Dict: write_dict(*value.to_dict(), depth); break;
      case IValue::Tag::Tuple: write_tuple(*value.to_tuple(), depth); break;
      default: write_object(value.to_object(), depth); break;
    }
    remember(addresses_, address);
  }

  void write(const IValue& value, int depth) {
    if (++depth > static_cast<int>(2 * kMaxDepth)) fail("the states of objects are nested too deep");
    switch (value.tag()) {
      case IValue::Tag::None: return put(Opcode::None);
      case IValue::Tag::Tensor: return write_tensor(value.to_tensor());
      case IValue::Tag::Int: return write_int(value.to_int());
      case IValue::Tag::Float: return write_float(value.to_double());
      case IValue::Tag::Bool: return put(value.to_bool() ? Opcode::NewTrue : Opcode::NewFalse);
      case IValue::Tag::Complex: return write_complex(value.to_complex());
      case IValue::Tag::String: return write_string(value.to_string());
      case IValue::Tag::Device: return write_device(value.to_device());
      case IValue::Tag::List:
      case IValue::Tag::Dict:
      case IValue::Tag::Tuple:
      case IValue::Tag::Object: return write_container(value, depth);
      case IValue::Tag::Enum: return write_enum(*value.to_enum(), depth);
      case IValue::Tag::Future: fail("a Future cannot be saved: wait for its value first");
      case IValue::Tag::Function: fail("a function cannot be saved");
    }
  }

  ArchiveWriter& archive_;
  const PickleOptions& options_;
  std::string out_;
  size_t num_memoized_ = 0;
  std::unordered_map<std::string, size_t> strings_, globals_;
  std::vector<Tensor> kept_tensors_;                   // that were made for the pickle
  std::unordered_map<const void*, size_t> addresses_;  // of containers and tensors
  std::map<std::pair<const Storage*, DType>, size_t> storages_;
  std::vector<std::shared_ptr<Storage>> kept_;
  std::vector<IValue> states_;
};

}  // namespace

std::string pickle(const IValue& value, ArchiveWriter& archive, const PickleOptions& options) {
  return Pickler(archive, options).run(value);
}

}  // namespace weft::jit
