// Calls of functions in what a model writes, taken out while it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::serve {

// How a family writes its calls.
enum class CallFormat : uint8_t {
  Tags,       // <tool_call>{"name": …, "arguments": {…}}</tool_call>: Hermes, Qwen
  Brackets,   // [TOOL_CALLS][{"name": …, "arguments": {…}}, …] or [TOOL_CALLS]name{…}: Mistral
  PlainJson,  // {"name": …, "parameters": {…}} as the whole text: Llama 3
};

// By what the source of the family's template has; nothing where it is none of these.
std::optional<CallFormat> call_format_of(std::string_view template_source);
// What tells a call from text in front of it; of plain JSON, only where the text begins with it.
std::string_view call_begin(CallFormat format);
// What a text must begin with to be a call: of `function`, or of any where it is "".
std::string call_opening(CallFormat format, const std::string& function);
// Special tokens that begin calls of the format, which are left out of texts otherwise.
std::vector<std::string> call_marks(CallFormat format);

// Of the calls of an answer: nine letters and digits, as Mistral's templates take no others when a call is
// sent back.
std::string call_id(const std::string& answer, int64_t choice, size_t call);

// What one more piece of text gave: content, and parts of calls. A call's first part has its name.
struct CallPart {
  size_t index = 0;  // of the call
  std::string name;  // of its first part
  std::string arguments;
};
struct CallPieces {
  std::string content;
  std::vector<CallPart> calls;
};

// One JSON object with a name and arguments, byte by byte.
class CallScanner {
 public:
  // False where the byte cannot stand there. Arguments come out as they are written.
  bool feed(char byte);
  bool is_complete() const { return state_ == State::Done; }
  bool awaits_end() const { return state_ == State::CommaOrEnd; }
  // The name, once: when it is known and arguments may follow.
  const std::string& name() const { return name_; }
  bool has_name() const { return has_name_; }
  std::string take_arguments();

 private:
  enum class State : uint8_t { Open, KeyOrEnd, Key, Colon, Value, InValue, CommaOrEnd, Done };
  bool begin_value(char byte);
  bool in_value(char byte);
  void end_value();
  State state_ = State::Open;
  std::string key_, value_, name_, arguments_;
  int depth_ = 0;
  bool has_name_ = false, in_string_ = false, is_escaped_ = false;
};

class CallParser {
 public:
  // `names`: of the functions there are; other calls of plain JSON are text.
  CallParser(CallFormat format, std::vector<std::string> names) : format_(format), names_(std::move(names)) {}
  CallPieces push(std::string_view text, bool is_end);
  size_t calls() const { return calls_; }

 private:
  enum class State : uint8_t { Content, BeforeCall, InName, InCall, AfterCall };
  void step(char byte, CallPieces& pieces);
  void step_content(char byte, CallPieces& pieces);
  void step_call(char byte, CallPieces& pieces);
  void step_name(char byte, CallPieces& pieces);
  void begin_call();
  void end_call();
  void give_up(CallPieces& pieces);
  void add(CallPieces& pieces, std::string name, std::string arguments);

  CallFormat format_;
  std::vector<std::string> names_;
  State state_ = State::Content;
  std::string held_;  // what may be the beginning of a call
  std::string plain_name_;
  CallScanner scanner_;
  size_t calls_ = 0;
  bool is_told_ = false;        // the name of the call that is read
  bool has_content_ = false;    // text that is no space
  bool in_list_ = false;        // of Brackets
  bool is_behind_tag_ = false;  // the end of a call's, with nothing but spaces since
};

}  // namespace weft::serve
