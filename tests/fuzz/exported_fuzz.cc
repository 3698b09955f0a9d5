// Any bytes given to exported::load are refused, or give a program that can be looked at and called with what it does not
// take. Mutations keep most inputs readable archives: one entry changes, JSON by words.
#include "fuzz/support.h"
#include "ir/graph.h"
#include "weft/exported.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace weft;
  const auto change = [&](const std::string& name, std::string contents) {
    const size_t room = contents.size() + 64;
    if (name.ends_with(".json") && seed % 4 != 0) return fuzz::mutated_source(contents, seed, room);
    return fuzz::mutated(std::move(contents), room);
  };
  if (seed % 8 != 0) {
    const std::string bytes(fuzz::text_of(data, size));
    if (const size_t changed = fuzz::give_back(fuzz::change_entry(bytes, seed, change), data, max_size))
      return changed;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

namespace {

void look_at(const weft::exported::Program& program) {
  using namespace weft;
  program.module().method("forward")->graph().str();
  program.text();
  for (const exported::Input& input : program.inputs()) input.constant.repr();
  fuzz::accepts([&] { exported::make_program(program.text(), program.weights(), program.constants()); });
  fuzz::accepts([&] { program({}); });
  fuzz::accepts([&] { program({IValue(1), IValue::tuple({})}, {{"k", IValue()}}); });
  fuzz::accepts([&] { program({Tensor::full({0, 2}, 0, DType::F32)}); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::fuzz::accepts(
      [&] { look_at(weft::exported::load_bytes(std::string(weft::fuzz::text_of(data, size)))); });
  return 0;
}
