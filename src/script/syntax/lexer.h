// Python's tokens, as far as TorchScript has them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "script/syntax/tree.h"

namespace weft::jit {

enum class TokenKind : uint8_t { Name, Number, String, Operator, Newline, Indent, Dedent, End };

struct Token {
  TokenKind kind = TokenKind::End;
  size_t begin = 0, end = 0;  // bytes of the source
  // "# type: …" that follows on the same line, or on lines of its own before the next token: what stands
  // after the colon.
  size_t comment_begin = 0, comment_end = 0;
};

// Bytes [begin, end) of the source. `is_expression`: line ends and indentation mean nothing, as in
// parentheses. The first line's indentation is the outermost level.
std::vector<Token> tokenize(const SourcePtr& source, size_t begin, size_t end, bool is_expression);

bool is_keyword(std::string_view name);
bool is_identifier(std::string_view name);  // of ASCII letters, and no keyword

}  // namespace weft::jit
