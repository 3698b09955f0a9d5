// Any bytes given to jit::load are refused, or give a module that can be looked at, printed, frozen and
// saved. Mutations keep most inputs readable archives: one entry changes, its pickle by opcodes, its source
// by characters.
#include "fuzz/support.h"
#include "ir/graph.h"
#include "weft/jit.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace weft;
  const std::string bytes(fuzz::text_of(data, size));
  const auto change = [&](const std::string& name, std::string contents) {
    const size_t room = contents.size() + 64;
    if (name.ends_with(".pkl") && seed % 4 != 0) return fuzz::mutated_pickle(contents, seed, room);
    if (name.ends_with(".py") && seed % 4 != 0) return fuzz::mutated_source(contents, seed, room);
    return fuzz::mutated(std::move(contents), room);
  };
  if (seed % 8 != 0) {
    if (const size_t changed = fuzz::give_back(fuzz::change_entry(bytes, seed, change), data, max_size))
      return changed;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

namespace {

void look_at(const weft::jit::Module& module) {
  using namespace weft;
  for (const auto& [name, child] : module.named_modules()) {
    for (const std::string& method : child.method_names())
      fuzz::accepts([&] { child.method(method)->graph().str(); });
    fuzz::accepts([&] { child.code(); });
  }
  for (const jit::NamedTensor& entry : module.state_dict()) entry.tensor.numel();
  fuzz::accepts([&] { module.clone(); });
  std::string saved;
  if (fuzz::accepts([&] { saved = module.save_to_bytes(); })) fuzz::accepts([&] { jit::load_bytes(saved); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::fuzz::accepts([&] { look_at(weft::jit::load_bytes(std::string(weft::fuzz::text_of(data, size)))); });
  return 0;
}
