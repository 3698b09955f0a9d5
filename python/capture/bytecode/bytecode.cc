#include "capture/bytecode/bytecode.h"

#include <algorithm>
#include <unordered_map>

#include "capture/bytecode/decoder.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

// Reads the variable-length integers of the exception table.
class TableReader {
 public:
  TableReader(const uint8_t* data, Py_ssize_t size) : position_(data), end_(data + size) {}
  bool done() const { return position_ >= end_; }
  int next() {
    int value = *position_ & 63;
    while (*position_++ & 64) value = value << 6 | (*position_ & 63);
    return value;
  }

 private:
  const uint8_t* position_;
  const uint8_t* end_;
};

std::vector<Raw> read_raw(PyCodeObject* code) {
  Ref bytes = checked(PyCode_GetCode(code));
  const auto* data = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
  const int size = static_cast<int>(PyBytes_GET_SIZE(bytes.get()));
  std::vector<Raw> result;
  int extended = 0, start = -1;
  for (int offset = 0; offset < size; offset += 2) {
    const int opcode = data[offset], arg = extended << 8 | data[offset + 1];
    if (start < 0) start = offset;
    if (opcode == EXTENDED_ARG) {
      extended = arg;
      continue;
    }
    int after = offset + 2;
    while (after < size && data[after] == CACHE) after += 2;
    result.push_back({opcode, arg, start, after});
    extended = 0;
    start = -1;
    offset = after - 2;
  }
  return result;
}

}  // namespace

void Decoder::decode() {
  raw_ = read_raw(code_.code());
  PyObject* table = code_.code()->co_exceptiontable;
  TableReader reader(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(table)), PyBytes_GET_SIZE(table));
  while (!reader.done()) {  // targets are offsets here
    const int start = reader.next() * 2, length = reader.next() * 2, target = reader.next() * 2;
    const int depth_lasti = reader.next();
    const int depth = depth_lasti >> 1;
    code_.handlers.push_back({start, start + length, target, depth, (depth_lasti & 1) != 0, depth});
  }
#if PY_VERSION_HEX >= 0x030E0000
  find_hidden();
#endif
  std::unordered_map<int, int> index_of_offset;
  for (at_ = 0; at_ < raw_.size(); ++at_) {
    // A jump may target the EXTENDED_ARG prefix, which is where `offset` points.
    index_of_offset[raw_[at_].offset] = static_cast<int>(code_.instructions.size());
    lower(raw_[at_].opcode, raw_[at_].arg);
  }
  const int end = static_cast<int>(code_.instructions.size());
  for (auto [instruction, offset] : jumps_) {
    auto found = index_of_offset.find(offset);
    code_.instructions[static_cast<size_t>(instruction)].arg =
        found == index_of_offset.end() ? end : found->second;
  }
  // Exhausted FOR_ITER continues behind the END_FOR (3.12) and POP_TOP (3.13) or POP_ITER (3.14) it jumps to.
#if PY_VERSION_HEX >= 0x030C0000
  const int skip = PY_VERSION_HEX >= 0x030D0000 ? 2 : 1;
  for (Instruction& i : code_.instructions)
    if (i.op == Op::ForIter) i.arg += skip;
#endif
  for (Handler& handler : code_.handlers) {
#if PY_VERSION_HEX >= 0x030E0000
    handler.depth = visible_depth(handler);
#endif
    handler.target = index_of_offset.at(handler.target);
  }
}

namespace {

// Which slots a later instruction may read, by the usual backward data flow.
void find_liveness(Code& code) {
  const size_t n = code.instructions.size();
  code.live.assign(n + 1, 0);
  uint64_t cells = 0;  // and what else instructions read that do not name it
  for (int i = 0; i < std::min(code.num_locals, 64); ++i)
    if (i >= code.num_locals - code.num_free) cells |= uint64_t{1} << i;
  // super() reads the first argument of the frame that calls it.
  for (const Ref& name : code.names)
    if (PyUnicode_CompareWithASCIIString(name.get(), "super") == 0) cells |= 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = n; k-- > 0;) {
      const Instruction& in = code.instructions[k];
      uint64_t live = 0;
      const bool ends = in.op == Op::Return || in.op == Op::Raise || in.op == Op::Reraise ||
                        in.op == Op::Jump || in.op == Op::JumpBack;
      if (!ends) live |= code.live[k + 1];
      if (is_jump(in.op)) live |= code.live[static_cast<size_t>(in.arg)];
      const uint64_t bit = in.arg < 64 ? uint64_t{1} << (in.arg & 63) : 0;
      switch (in.op) {
        case Op::StoreFast: live &= ~bit; break;
        case Op::LoadFast:
        case Op::LoadFastAndClear:
        case Op::DeleteFast:
        case Op::MakeCell:
        case Op::LoadDeref:
        case Op::StoreDeref:
        case Op::DeleteDeref: live |= bit; break;
        default: break;
      }
      if (const Handler* handler = code.find_handler(in.offset))
        live |= code.live[static_cast<size_t>(handler->target)];
      live |= cells;
      if (live != code.live[k]) {
        code.live[k] = live;
        changed = true;
      }
    }
  }
}

// All at once: the table is read from its beginning.
void find_lines(Code& code) {
  const Ref ranges =
      checked(PyObject_CallMethod(reinterpret_cast<PyObject*>(code.code()), "co_lines", nullptr));
  code.lines.reserve(code.instructions.size());
  long end = 0, line = -1;
  for (const Instruction& in : code.instructions) {
    while (in.offset >= end) {
      const Ref range = Ref::steal(PyIter_Next(ranges.get()));  // (begin, end, line or None)
      if (!range) break;
      end = PyLong_AsLong(PyTuple_GET_ITEM(range.get(), 1));
      PyObject* const number = PyTuple_GET_ITEM(range.get(), 2);
      line = number == Py_None ? -1 : PyLong_AsLong(number);
    }
    code.lines.push_back(static_cast<int>(line));
  }
  if (PyErr_Occurred()) throw PythonError{};
}

const char* reason_to_leave(const Code& code) {
  const int flags = code.code()->co_flags;
  if (flags & (CO_GENERATOR | CO_ASYNC_GENERATOR)) return "it is a generator";
  if (flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return "it is a coroutine";
  if (!(flags & CO_OPTIMIZED)) return "it is not a function body";
  return nullptr;
}

// The builtin loaded at `at` is called of one name or attribute: vars(x), dir(x.y).
bool is_called_of_an_object(const Code& code, size_t at) {
  const auto op = [&] {
    while (at < code.instructions.size() && code.instructions[at].op == Op::Nop) ++at;
    return at < code.instructions.size() ? code.instructions[at].op : Op::Nop;
  };
  ++at;
  if (op() == Op::PushNull) ++at;
  if (op() != Op::LoadFast && op() != Op::LoadDeref && op() != Op::LoadGlobal) return false;
  ++at;
  while (op() == Op::LoadAttr) ++at;
  return op() == Op::Call && code.instructions[at].arg == 1;
}

// These look at the interpreter's own frame, which an evaluated function does not have: by these names
// wherever they stand, or as names of functions of Python's. Methods that are called so, as module.eval(),
// are others.
bool looks_at_its_frame(const Code& code) {
  const auto is_any_of = [](const Ref& name, std::initializer_list<const char*> texts) {
    return std::any_of(texts.begin(), texts.end(), [&](const char* text) {
      return PyUnicode_CompareWithASCIIString(name.get(), text) == 0;
    });
  };
  const auto has_any_of = [&](std::initializer_list<const char*> texts) {
    return std::any_of(code.names.begin(), code.names.end(),
                       [&](const Ref& name) { return is_any_of(name, texts); });
  };
  if (has_any_of({"_getframe", "currentframe"})) return true;
  static constexpr auto kFunctions = {"locals", "eval", "exec", "vars", "dir"};
  if (has_any_of({"builtins", "__builtins__"})) return has_any_of(kFunctions);
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    if (code.instructions[i].op != Op::LoadGlobal) continue;
    const Ref& name = code.names[static_cast<size_t>(code.instructions[i].arg)];
    if (is_any_of(name, kFunctions) && !(is_any_of(name, {"vars", "dir"}) && is_called_of_an_object(code, i)))
      return true;
  }
  return false;
}

std::vector<Ref> elements(PyObject* tuple) {
  std::vector<Ref> result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    result.push_back(Ref::borrow(PyTuple_GET_ITEM(tuple, i)));
  return result;
}

}  // namespace

const Code& decode(PyCodeObject* object) {
  // Never freed: positions refer to code objects by address.
  static auto& table = *new std::unordered_map<PyCodeObject*, std::unique_ptr<Code>>;
  if (const auto found = table.find(object); found != table.end()) return *found->second;
  auto code = std::make_unique<Code>();
  code->object = Ref::borrow(reinterpret_cast<PyObject*>(object));
  code->constants = elements(object->co_consts);
  code->names = elements(object->co_names);
  code->local_names = elements(object->co_localsplusnames);
  code->num_locals = object->co_nlocalsplus;
  code->num_free = object->co_nfreevars;
  code->positional = object->co_argcount;
  code->positional_only = object->co_posonlyargcount;
  code->keyword_only = object->co_kwonlyargcount;
  code->var_args = (object->co_flags & CO_VARARGS) != 0;
  code->var_keywords = (object->co_flags & CO_VARKEYWORDS) != 0;
  const char* reason = reason_to_leave(*code);
  code->is_generator = object->co_flags & CO_GENERATOR;
  if (!reason || code->is_generator) {
    Decoder(*code).decode();
    find_liveness(*code);
    find_lines(*code);
  }
  if (!reason && looks_at_its_frame(*code)) reason = "it looks at its own frame";
  if (reason) code->unsupported = reason;
  // Another thread may have been here meanwhile: what it has is in use.
  return *table.try_emplace(object, std::move(code)).first->second;
}

std::string Code::name() const { return utf8(code()->co_qualname); }
std::string Code::file() const { return utf8(code()->co_filename); }
int Code::line(int instruction) const {
  if (instruction < 0 || instruction >= static_cast<int>(instructions.size())) return code()->co_firstlineno;
  return lines[static_cast<size_t>(instruction)];
}

const Handler* Code::find_handler(int offset) const {
  const Handler* found = nullptr;
  for (const Handler& handler : handlers)
    if (handler.start <= offset && offset < handler.end) found = &handler;
  return found;
}

bool is_jump(Op op) {
  switch (op) {
    case Op::Jump:
    case Op::JumpBack:
    case Op::PopJumpIfTrue:
    case Op::PopJumpIfFalse:
    case Op::PopJumpIfNone:
    case Op::PopJumpIfNotNone:
    case Op::JumpIfTrueOrPop:
    case Op::JumpIfFalseOrPop:
    case Op::Send:
    case Op::ForIter: return true;
    default: return false;
  }
}

std::string_view op_name(Op op) {
  static constexpr std::string_view kNames[] = {"Nop",
                                                "PopTop",
                                                "PushNull",
                                                "Copy",
                                                "Swap",
                                                "LoadConst",
                                                "LoadFast",
                                                "LoadFastAndClear",
                                                "StoreFast",
                                                "DeleteFast",
                                                "LoadGlobal",
                                                "StoreGlobal",
                                                "DeleteGlobal",
                                                "MakeCell",
                                                "LoadDeref",
                                                "StoreDeref",
                                                "DeleteDeref",
                                                "LoadAttr",
                                                "LoadMethod",
                                                "StoreAttr",
                                                "DeleteAttr",
                                                "LoadSuperAttr",
                                                "LoadSuperMethod",
                                                "Negative",
                                                "Positive",
                                                "Not",
                                                "Invert",
                                                "ToBool",
                                                "Binary",
                                                "Compare",
                                                "Is",
                                                "Contains",
                                                "Subscript",
                                                "StoreSubscript",
                                                "DeleteSubscript",
                                                "BinarySlice",
                                                "StoreSlice",
                                                "BuildTuple",
                                                "BuildList",
                                                "BuildSet",
                                                "BuildMap",
                                                "BuildConstKeyMap",
                                                "BuildSlice",
                                                "BuildString",
                                                "BuildTemplate",
                                                "BuildInterpolation",
                                                "ListAppend",
                                                "SetAdd",
                                                "MapAdd",
                                                "ListExtend",
                                                "SetUpdate",
                                                "DictUpdate",
                                                "DictMerge",
                                                "ListToTuple",
                                                "Convert",
                                                "Format",
                                                "UnpackSequence",
                                                "UnpackEx",
                                                "GetIter",
                                                "ForIter",
                                                "Jump",
                                                "JumpBack",
                                                "PopJumpIfTrue",
                                                "PopJumpIfFalse",
                                                "PopJumpIfNone",
                                                "PopJumpIfNotNone",
                                                "JumpIfTrueOrPop",
                                                "JumpIfFalseOrPop",
                                                "Call",
                                                "CallKw",
                                                "CallEx",
                                                "MakeFunction",
                                                "SetFunctionAttribute",
                                                "ImportName",
                                                "ImportFrom",
                                                "LoadAssertionError",
                                                "LoadBuildClass",
                                                "Return",
                                                "Raise",
                                                "Reraise",
                                                "PushExcInfo",
                                                "PopExcept",
                                                "CheckExcMatch",
                                                "WithExceptStart",
                                                "BeforeWith",
                                                "Yield",
                                                "Send",
                                                "StopIterationError",
                                                "GetLen",
                                                "MatchMapping",
                                                "MatchSequence",
                                                "MatchKeys",
                                                "MatchClass",
                                                "Unsupported"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace weft::capture
