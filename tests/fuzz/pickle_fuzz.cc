// Any bytes given to the unpickler are refused, or give a value that can be printed and pickled, and that is
// the same when it is read again. The first byte tells whether the archive has code, and classes with it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

#include "fuzz/seeds.h"
#include "fuzz/support.h"
#include "io/pickle.h"
#include "script/emit/importer.h"
#include "weft/error.h"

namespace weft::fuzz {
namespace {

jit::UnpickleOptions options_with_classes() {
  static const auto unit = jit::import_archive(jit::ArchiveReader::from_bytes(archive_of_classes()), {});
  jit::UnpickleOptions options;
  options.find_type = [](const std::string& name) { return unit->find_type(name); };
  options.set_state = [](const std::shared_ptr<jit::Object>& object, const IValue& state) {
    (*object->type->find_method("__setstate__"))({object, state});
  };
  return options;
}

// Parts may be shared, and are printed each time they are met.
bool is_small(const IValue& value, size_t& budget) {
  if (budget == 0 || --budget == 0) return false;
  const auto all_small = [&](const std::vector<IValue>& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const IValue& part) { return is_small(part, budget); });
  };
  switch (value.tag()) {
    case IValue::Tag::Tensor: return value.to_tensor().numel() < 1000;
    case IValue::Tag::List:
    case IValue::Tag::Tuple: return all_small(value.elements());
    case IValue::Tag::Object: return all_small(value.to_object()->slots);
    case IValue::Tag::Dict:
      return std::all_of(
          value.to_dict()->items().begin(), value.to_dict()->items().end(),
          [&](const auto& item) { return is_small(item.first, budget) && is_small(item.second, budget); });
    default: return true;
  }
}

void check_round_trip(const IValue& value, const jit::UnpickleOptions& options) {
  size_t budget = 10000;
  if (!is_small(value, budget)) return;
  std::string bytes;
  const bool is_saved = accepts([&] {
    jit::ArchiveWriter writer("m");
    bytes = jit::pickle(value, writer);
    writer.add("version", std::as_bytes(std::span("3", 1)));
    const std::string archive = writer.finish();
    bytes = jit::unpickle(bytes, jit::ArchiveReader::from_bytes(archive).get(), options).repr();
  });
  const std::string before = value.repr();
  if (!is_saved || bytes == before) return;
  std::fprintf(stderr, "before: %s\nafter:  %s\n", before.c_str(), bytes.c_str());
  std::abort();
}

}  // namespace
}  // namespace weft::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 2 || seed % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string bytes(weft::fuzz::text_of(data, size));
  return weft::fuzz::give_back(bytes[0] + weft::fuzz::mutated_pickle(bytes.substr(1), seed, max_size - 1),
                               data, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft;
  if (size == 0) return 0;
  static const jit::UnpickleOptions kNone, kClasses = fuzz::options_with_classes();
  static const auto kStorages = jit::ArchiveReader::from_bytes(fuzz::archive_of_classes());
  const jit::UnpickleOptions& options = data[0] % 2 == 0 ? kNone : kClasses;
  IValue value;
  if (fuzz::accepts(
          [&] { value = jit::unpickle(fuzz::text_of(data + 1, size - 1), kStorages.get(), options); }))
    fuzz::check_round_trip(value, options);
  return 0;
}
