// What the targets share: which errors are answers, and mutations that keep an archive readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs `body`; false where it refused the input. Anything but an error of the user's is a failure of the
// target.
bool accepts(const std::function<void()>& body);

// Copies `bytes` to `data` where they fit, and returns their number; 0 where they do not.
size_t give_back(std::string_view bytes, uint8_t* data, size_t max_size);

// libFuzzer's own mutation of a string.
std::string mutated(std::string bytes, size_t max_size);

// Writes the checksums of stored entries anew, so that what was changed in them is read.
void repair_checksums(std::string& archive);

// One entry of a readable archive changed, and the archive written again; "" where it cannot be read.
// `change` gets the entry's name and contents.
std::string change_entry(
    const std::string& archive, unsigned seed,
    const std::function<std::string(const std::string& name, std::string contents)>& change);

// Opcodes repeated, removed, moved and joined, instead of bytes.
std::string mutated_pickle(const std::string& bytes, unsigned seed, size_t max_size);
// The same for words, characters and lines of source.
std::string mutated_source(const std::string& text, unsigned seed, size_t max_size);
// A mutator of texts in a language: three of four times as source, so that most of them stay some.
size_t mutate_text(uint8_t* data, size_t size, size_t max_size, unsigned seed);

// What must hold of an answer.
void require(bool condition);

}  // namespace weft::fuzz
