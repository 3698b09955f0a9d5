#include "fuzz/support.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "io/archive.h"
#include "io/pickle_opcodes.h"
#include "io/zip_format.h"
#include "weft/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace weft::fuzz {

namespace {

uint64_t number_at(const std::string& bytes, size_t position, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[position + i])} << (8 * i);
  return value;
}

void set_u32(std::string& bytes, size_t position, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[position + i] = static_cast<char>(value >> (8 * i));
}

size_t random_below(std::minstd_rand& random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

}  // namespace

bool accepts(const std::function<void()>& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      throw;
    }
  }
  return false;
}

size_t give_back(std::string_view bytes, uint8_t* data, size_t max_size) {
  if (bytes.empty() || bytes.size() > max_size) return 0;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

std::string mutated(std::string bytes, size_t max_size) {
  const size_t size = bytes.size();
  bytes.resize(std::max(size, max_size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

void repair_checksums(std::string& archive) {
  using namespace jit;
  for (size_t at = archive.find("PK\1\2"); at != archive.npos; at = archive.find("PK\1\2", at + 1)) {
    if (archive.size() - at < zip::kCentralHeaderSize) return;
    const uint64_t size = number_at(archive, at + 20, 4), header = number_at(archive, at + 42, 4);
    if (number_at(archive, at + 10, 2) != zip::kStored || header + zip::kLocalHeaderSize > archive.size())
      continue;
    const uint64_t payload = header + zip::kLocalHeaderSize + number_at(archive, header + 26, 2) +
                             number_at(archive, header + 28, 2);
    if (payload > archive.size() || size > archive.size() - payload) continue;
    const uint32_t crc = zip::crc32(std::as_bytes(std::span(archive)).subspan(payload, size));
    set_u32(archive, at + 16, crc);
    set_u32(archive, header + 14, crc);
  }
}

std::string change_entry(const std::string& archive, unsigned seed,
                         const std::function<std::string(const std::string&, std::string)>& change) {
  std::minstd_rand random(seed);
  std::string result;
  accepts([&] {
    const auto reader = jit::ArchiveReader::from_bytes(archive);
    const std::vector<std::string> names = reader->entries();
    if (names.empty()) return;
    const std::string& chosen = names[random_below(random, names.size())];
    jit::ArchiveWriter writer("m");
    for (const std::string& name : names) {
      std::string contents = reader->read(name);
      if (name == chosen) contents = change(name, std::move(contents));
      writer.add(name, std::as_bytes(std::span(contents)));
    }
    result = writer.finish();
  });
  return result;
}

// ---- pickles ---------------------------------------------------------------------------------------------
namespace {

// The bytes of an opcode and its argument; what is left where the argument is cut off.
size_t opcode_size(const std::string& bytes, size_t at) {
  const size_t left = bytes.size() - at;
  const auto counted = [&](size_t width) {
    return left < 1 + width
               ? left
               : static_cast<size_t>(std::min<uint64_t>(
                     left, 1 + width + std::min<uint64_t>(left, number_at(bytes, at + 1, width))));
  };
  switch (static_cast<jit::Opcode>(bytes[at])) {
    case jit::Opcode::Proto:
    case jit::Opcode::BinInt1:
    case jit::Opcode::BinPut:
    case jit::Opcode::BinGet: return std::min<size_t>(left, 2);
    case jit::Opcode::BinInt2: return std::min<size_t>(left, 3);
    case jit::Opcode::BinInt:
    case jit::Opcode::LongBinPut:
    case jit::Opcode::LongBinGet: return std::min<size_t>(left, 5);
    case jit::Opcode::BinFloat:
    case jit::Opcode::Frame: return std::min<size_t>(left, 9);
    case jit::Opcode::Long1:
    case jit::Opcode::ShortBinUnicode: return counted(1);
    case jit::Opcode::BinUnicode: return counted(4);
    case jit::Opcode::BinUnicode8: return counted(8);
    case jit::Opcode::Global: {
      const size_t first = bytes.find('\n', at),
                   second = first == bytes.npos ? first : bytes.find('\n', first + 1);
      return second == bytes.npos ? left : second + 1 - at;
    }
    default: return 1;
  }
}

std::vector<std::string> split_opcodes(const std::string& bytes) {
  std::vector<std::string> opcodes;
  for (size_t at = 0; at < bytes.size(); at += opcodes.back().size())
    opcodes.push_back(bytes.substr(at, opcode_size(bytes, at)));
  return opcodes;
}

}  // namespace

namespace {

// A few changes to a sequence of pieces; `fresh` makes a piece that was not there.
std::string mutated_pieces(std::vector<std::string> pieces, unsigned seed,
                           const std::function<std::string(std::minstd_rand&)>& fresh) {
  std::minstd_rand random(seed);
  for (size_t changes = 1 + random_below(random, 3); changes-- > 0 && !pieces.empty();) {
    const size_t at = random_below(random, pieces.size()), other = random_below(random, pieces.size());
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random_below(random, 7)) {
      case 0: pieces.erase(first); break;
      case 1: pieces.insert(first, std::string(pieces[other])); break;
      case 2: std::swap(pieces[at], pieces[other]); break;
      case 3: pieces[at] = pieces[other]; break;
      case 4: pieces.insert(first, fresh(random)); break;
      case 5: {  // a run again elsewhere
        const size_t count = 1 + random_below(random, std::min<size_t>(24, pieces.size() - at));
        const std::vector<std::string> run(first, first + static_cast<std::ptrdiff_t>(count));
        pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(other), run.begin(), run.end());
        break;
      }
      default: pieces[at] = mutated(pieces[at], pieces[at].size() + 8); break;
    }
  }
  std::string result;
  for (const std::string& piece : pieces) result += piece;
  return result;
}

// Words, numbers, and single characters; a line's indentation with its end.
std::vector<std::string> split_source(const std::string& text) {
  std::vector<std::string> pieces;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; at < text.size(); at += pieces.back().size()) {
    size_t end = at + 1;
    if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text[at] == '\n') {
      while (end < text.size() && text[end] == ' ') ++end;
    }
    pieces.push_back(text.substr(at, end - at));
  }
  return pieces;
}

}  // namespace

std::string mutated_pickle(const std::string& bytes, unsigned seed, size_t max_size) {
  std::string result = mutated_pieces(split_opcodes(bytes), seed, [](std::minstd_rand& random) {
    return std::string(1, static_cast<char>(random()));
  });
  return result.size() <= max_size ? result : bytes;
}

std::string mutated_source(const std::string& text, unsigned seed, size_t max_size) {
  static const std::vector<std::string> kWords = {"if",
                                                  "else",
                                                  "elif",
                                                  "while",
                                                  "for",
                                                  "in",
                                                  "return",
                                                  "break",
                                                  "continue",
                                                  "def f(x):",
                                                  "class A:",
                                                  "with",
                                                  "as",
                                                  "not",
                                                  "is",
                                                  "and",
                                                  "or",
                                                  "None",
                                                  "True",
                                                  "int",
                                                  "str",
                                                  "float",
                                                  "Tensor",
                                                  "Optional[int]",
                                                  "List[int]",
                                                  "Dict[str, int]",
                                                  "Tuple[int, str]",
                                                  "self",
                                                  "raise",
                                                  "assert",
                                                  "del",
                                                  "pass",
                                                  "**",
                                                  "//",
                                                  "->",
                                                  "==",
                                                  "<=",
                                                  "+=",
                                                  "...",
                                                  "\"\"\"",
                                                  "f'{x!r:>3}'",
                                                  "# type: (int) -> int",
                                                  "0x7fffffffffffffff",
                                                  "1e308",
                                                  "2j",
                                                  "isinstance(",
                                                  "range(",
                                                  "enumerate(",
                                                  "zip(",
                                                  "len(",
                                                  "torch.jit.fork(",
                                                  "torch.jit.annotate(",
                                                  "hasattr(",
                                                  "print(",
                                                  "[1:2, ..., None]"};
  std::string result = mutated_pieces(split_source(text), seed, [](std::minstd_rand& random) {
    return " " + kWords[random_below(random, kWords.size())];
  });
  return result.size() <= max_size ? result : text;
}

size_t mutate_text(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string text(text_of(data, size));
  return give_back(seed % 4 == 0 ? mutated(text, max_size) : mutated_source(text, seed, max_size), data,
                   max_size);
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace weft::fuzz
