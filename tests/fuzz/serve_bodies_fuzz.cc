// Any bytes given as a body of `weft serve --archive` or `--checkpoint`, JSON, .npz or an image, are refused
// with an answer that is JSON, or are arrays, prompts and pixels of the sizes that were allowed.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz/support.h"
#include "io/npy.h"
#include "serve/api_error.h"
#include "serve/array_body.h"
#include "serve/image_file.h"
#include "serve/segment_request.h"
#include "weft/error.h"

namespace {

constexpr uint64_t kMostBytes = 1 << 20;

using weft::fuzz::require;

template <class F>
void attempt(const F& read) {
  try {
    read();
  } catch (const weft::serve::ApiError& error) {
    require((error.status == 400 || error.status == 406 || error.status == 413) && !error.message.empty());
    require(nlohmann::json::parse(error.json())["error"]["type"] == "invalid_request_error");
  } catch (const weft::Error& error) {
    if (error.kind() == weft::ErrorKind::Internal) throw;
  }
}

void check(const weft::serve::SegmentRequest& request) {
  require(!request.prompts.empty() && request.image.empty() == request.pixels.defined());
  for (const auto& prompt : request.prompts) require(prompt.box || !prompt.points.empty());
}

}  // namespace

// Words and characters as of a program's source, so that most bodies stay JSON.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string text(weft::fuzz::text_of(data, size));
  const bool is_text = text.starts_with("{") && seed % 4 != 0;
  return weft::fuzz::give_back(
      is_text ? weft::fuzz::mutated_source(text, seed, max_size) : weft::fuzz::mutated(text, max_size), data,
      max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weft::serve;
  const std::string text(weft::fuzz::text_of(data, size));
  attempt([&] {
    const ArrayRequest request = parse_arrays(text, kMostBytes);
    uint64_t bytes = 0;
    for (const auto& [name, value] : request.arrays)
      if (value.is_tensor()) bytes += static_cast<uint64_t>(value.to_tensor().numel());
    require(bytes <= kMostBytes);
    // What was read is written, and read again.
    parse_arrays(
        R"({"inputs":)" + arrays_json("m", request.arrays).substr(std::strlen(R"({"model":"m","outputs":)")),
        8 * kMostBytes);
  });
  attempt([&] { weft::io::parse_npz(text, "body", kMostBytes); });
  attempt([&] { check(parse_segment(text)); });
  attempt([&] { check(parse_segment_npz(text, kMostBytes)); });
  attempt([&] {
    const weft::Tensor pixels = read_image(text);
    require(pixels.dim() == 3 && pixels.size(2) == 3 && pixels.numel() > 0);
  });
  return 0;
}
