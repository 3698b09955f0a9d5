// Unpickling: real archives, every kind of value, and every refusal.
#include "io/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "weft/error.h"

namespace weft::jit {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string shared_data() {
  const char* folder = std::getenv("WEFT_SHARED_DATA");
  return folder ? folder : "";
}

// The classes of an archive, with every annotated attribute as Any: enough for unpickling.
class ArchiveClasses {
 public:
  explicit ArchiveClasses(std::shared_ptr<ArchiveReader> archive) : archive_(std::move(archive)) {}

  TypePtr find(const std::string& qualified) {
    const auto found = types_.find(qualified);
    return found != types_.end() ? found->second : types_[qualified] = read(qualified);
  }

 private:
  TypePtr read(const std::string& qualified) {
    const size_t dot = qualified.rfind('.');
    std::string file = "code/" + qualified.substr(0, dot);
    std::replace(file.begin() + 5, file.end(), '.', '/');
    const std::string source = archive_->read(file + ".py");
    const ClassTypePtr type = ClassType::create(qualified, true);
    const size_t start = source.find("class " + qualified.substr(dot + 1) + "(");
    if (start == source.npos) return nullptr;
    std::string body = source.substr(start);
    body = body.substr(0, std::min(body.find("\n  def "), body.find("\nclass ", 1)));
    static const std::regex kAttribute(R"re(\n  (?:__annotations__\["(\w+)"\] =|(\w+) :) (\S+))re");
    for (std::sregex_iterator it(body.begin(), body.end(), kAttribute), end; it != end; ++it) {
      if (it->str(3).starts_with("Final[")) continue;
      Attribute attribute;
      attribute.name = it->str(1) + it->str(2);
      attribute.type = Type::any();
      type->add_attribute(std::move(attribute));
    }
    return type;
  }

  std::shared_ptr<ArchiveReader> archive_;
  std::map<std::string, TypePtr> types_;
};

int64_t count_parameters(const IValue& value) {
  if (value.is_tensor()) return value.to_tensor().numel();
  int64_t count = 0;
  if (value.is(IValue::Tag::Object)) {
    for (const IValue& slot : value.to_object()->slots) count += count_parameters(slot);
  }
  return count;
}

TEST(Unpickle, ReadsEveryArchiveOfTorchScript) {
  const std::string folder = shared_data() + "/torchscript";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data (WEFT_SHARED_DATA)";
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".pt") continue;
    SCOPED_TRACE(file.path());
    const auto archive = ArchiveReader::open(file.path());
    ArchiveClasses classes(archive);
    UnpickleOptions options;
    options.find_type = [&](const std::string& name) { return classes.find(name); };
    const IValue module = unpickle(archive->read("data.pkl"), archive.get(), options);
    EXPECT_TRUE(module.is(IValue::Tag::Object));
    if (file.path().stem() == "squeezenet1_1") {
      EXPECT_EQ(count_parameters(module), 1235496);
    }
    options.storages = "constants";
    EXPECT_TRUE(unpickle(archive->read("constants.pkl"), archive.get(), options).is(IValue::Tag::Tuple));
    ++count;
  }
  EXPECT_GE(count, 13);
}

// ---- streams by hand -------------------------------------------------------------------------------------
std::string bytes_of(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string pickled_text(const std::string& value) { return 'X' + bytes_of(value.size(), 4) + value; }
std::string integer(int64_t value) { return "\x8a\x08" + bytes_of(static_cast<uint64_t>(value), 8); }
std::string global(const std::string& module, const std::string& name) {
  return 'c' + module + '\n' + name + '\n';
}
std::string tuple(const std::string& items) { return '(' + items + 't'; }
std::string ints(const std::vector<int64_t>& values) {
  std::string items;
  for (const int64_t value : values) items += integer(value);
  return tuple(items);
}
std::string stream(const std::string& body) { return "\x80\x02" + body + '.'; }

// An archive with storages '0' of 48 bytes and '1' of 7.
std::shared_ptr<ArchiveReader> storages() {
  static const std::shared_ptr<ArchiveReader> archive = [] {
    ArchiveWriter writer("m");
    const std::string zeros(48, '\0');
    writer.add("data/0", std::as_bytes(std::span(zeros)));
    writer.add("data/1", std::as_bytes(std::span(zeros)).first(7));
    writer.add("version", std::as_bytes(std::span("3", 1)));
    return ArchiveReader::from_bytes(writer.finish(), "m.pt");
  }();
  return archive;
}

std::string storage(const std::string& type = "FloatStorage", int64_t count = 12,
                    const std::string& key = "0") {
  return tuple(pickled_text("storage") + global("torch", type) + pickled_text(key) + pickled_text("cpu") +
               integer(count)) +
         'Q';
}
std::string tensor(int64_t offset, const std::vector<int64_t>& size, const std::vector<int64_t>& stride,
                   const std::string& from = storage()) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(from + integer(offset) + ints(size) + ints(stride) + "\x89" +
               global("collections", "OrderedDict") + ")R") +
         'R';
}

// Types that the streams below name.
TypePtr find_type(const std::string& name) {
  static const std::map<std::string, TypePtr> kTypes = [] {
    std::map<std::string, TypePtr> types;
    const auto attribute = [](const char* attribute_name, TypePtr type) {
      Attribute result;
      result.name = attribute_name;
      result.type = std::move(type);
      return result;
    };
    const ClassTypePtr point = ClassType::create("__torch__.Point", false);
    point->add_attribute(attribute("x", Type::list(Type::integer())));
    point->add_attribute(attribute("y", Type::optional(Type::any())));
    types["__torch__.Point"] = point;
    types["__torch__.Empty"] = ClassType::create("__torch__.Empty", true);
    const ClassTypePtr stateful = ClassType::create("__torch__.Stateful", true);
    stateful->add_attribute(attribute("total", Type::integer()));
    stateful->add_method(std::make_shared<Function>("__torch__.Stateful.__setstate__", Schema(), nullptr));
    types["__torch__.Stateful"] = stateful;
    types["__torch__.Color"] =
        EnumType::create("__torch__.Color", Type::integer(), {{"RED", 1}, {"BLUE", 2}});
    types["__torch__.Pair"] =
        Type::named_tuple("__torch__.Pair", {"a", "b"}, {Type::integer(), Type::string()});
    types["__torch__.Face"] = InterfaceType::create("__torch__.Face", true);
    return types;
  }();
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? nullptr : found->second;
}

UnpickleOptions with_types() {
  UnpickleOptions options;
  options.find_type = find_type;
  return options;
}

IValue load(const std::string& body, const UnpickleOptions& options = with_types()) {
  return unpickle(stream(body), storages().get(), options);
}

std::string raw_refusal(const std::string& bytes, const UnpickleOptions& options = with_types()) {
  try {
    unpickle(bytes, storages().get(), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value) << error.what();
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("archive 'm.pt': unpickle: ")) << message;
    return message.substr(std::min<size_t>(message.size(), 26));
  }
  return "no error";
}
std::string refusal(const std::string& body, const UnpickleOptions& options = with_types()) {
  return raw_refusal(stream(body), options);
}

std::string typed(const std::string& value, const std::string& type) {
  return global("torch.jit._pickle", "restore_type_tag") + value + pickled_text(type) + "\x86R";
}

const std::string kNewPoint = global("__torch__", "Point") + ")\x81";

// ---- what comes out --------------------------------------------------------------------------------------
TEST(Unpickle, OpcodesOfProtocolFour) {
  const std::string name = "\x8c\x0b" + std::string("collections") + "\x94\x8c\x0bOrderedDict\x94";
  const IValue value = unpickle(
      "\x80\x04\x95" + bytes_of(name.size() + 11, 8) + name + "\x93\x94)R\x94h\x00h\x01\x87."s, nullptr);
  ASSERT_EQ(value.elements().size(), 3u);
  EXPECT_TRUE(value.elements()[0].is(IValue::Tag::Dict));
  EXPECT_EQ(value.elements()[2].to_string(), "OrderedDict");
}

TEST(Unpickle, Integers) {
  EXPECT_EQ(load("\x8a\x00"s).to_int(), 0);
  EXPECT_EQ(load("\x8a\x01\xff").to_int(), -1);
  EXPECT_EQ(load("\x8a\x02\xff\x00"s).to_int(), 255);
  EXPECT_EQ(load(integer(INT64_MIN)).to_int(), INT64_MIN);
  EXPECT_EQ(load("\x8a\x09" + bytes_of(~uint64_t{0} >> 1, 8) + '\0').to_int(), INT64_MAX);
  EXPECT_EQ(load("J\xfe\xff\xff\xff").to_int(), -2);
  EXPECT_EQ(load("M\xff\xff").to_int(), 65535);
  EXPECT_EQ(load("G\x3f\xf8\x00\x00\x00\x00\x00\x00"s).to_double(), 1.5);
}

TEST(Unpickle, TensorsOfOneStorageShareIt) {
  const IValue value = load(tensor(0, {3, 4}, {4, 1}) + tensor(4, {4}, {1}) + "\x86");
  const Tensor &whole = value.elements()[0].to_tensor(), &row = value.elements()[1].to_tensor();
  EXPECT_EQ(whole.storage(), row.storage());
  EXPECT_EQ(row.offset(), 4);
  EXPECT_EQ(load(tensor(12, {0, 5}, {5, 1})).to_tensor().numel(), 0);
  EXPECT_EQ(load(tensor(11, {1000, 1}, {0, 7})).to_tensor().numel(), 1000);
}

TEST(Unpickle, DtypesWithoutAStorageClass) {
  const std::string untyped = tuple(pickled_text("storage") + global("torch.storage", "UntypedStorage") +
                                    pickled_text("0") + pickled_text("cpu") + integer(48)) +
                              'Q';
  const IValue value =
      load(global("torch._utils", "_rebuild_tensor_v3") +
           tuple(untyped + integer(0) + ints({6}) + ints({1}) + "\x89N" + global("torch", "uint64")) + 'R');
  EXPECT_EQ(value.to_tensor().dtype(), DType::U64);
}

TEST(Unpickle, TypesOfContainers) {
  EXPECT_EQ(load(global("torch.jit._pickle", "build_intlist") + "(](K\1K\2etR").type()->str(), "List[int]");
  EXPECT_EQ(load(global("torch.jit._pickle", "build_tensorlist") + "(](etR").type()->str(), "List[Tensor]");
  EXPECT_EQ(load(typed("]", "List[Dict[str, Tuple[int, Optional[Tensor]]]]")).type()->str(),
            "List[Dict[str, Tuple[int, Optional[Tensor]]]]");
  EXPECT_EQ(load(typed("](](K\1ee", "List[List[int]]")).elements()[0].type()->str(), "List[int]");
  EXPECT_EQ(load(typed("](K\1" + pickled_text("x") + "\x86" + "e", "List[__torch__.Pair]")).repr(),
            "[Pair(a=1, b='x')]");
  EXPECT_EQ(load(typed("]K\1aNa", "List[Union[int, NoneType]]")).type()->str(), "List[Optional[int]]");
  EXPECT_EQ(load(typed("}", "Dict[int, Union[str, float]]")).type()->str(), "Dict[int, Union[str, float]]");
}

TEST(Unpickle, ObjectsOfTheArchivesClasses) {
  const IValue point = load(kNewPoint + "}(" + pickled_text("x") + "](K\1e" + pickled_text("y") + "Nub");
  EXPECT_EQ(point.to_object()->attribute("x").type()->str(), "List[int]");  // by the attribute's type
  EXPECT_EQ(load(global("__torch__", "Color") + "K\2R").to_enum()->name, "BLUE");
  EXPECT_EQ(load(global("__torch__", "Color") + "K\1\x85R").to_enum()->name, "RED");
  EXPECT_EQ(load(global("__torch__", "Pair") + "K\1" + pickled_text("b") + "\x86\x81").repr(),
            "Pair(a=1, b='b')");
  EXPECT_TRUE(load(global("__torch__", "Empty") + ")\x81").is(IValue::Tag::Object));
}

TEST(Unpickle, SetStateIsCalled) {
  UnpickleOptions options = with_types();
  options.set_state = [](const std::shared_ptr<Object>& object, IValue state) {
    object->set_attribute("total", state.elements()[0].to_int() + state.elements()[1].to_int());
  };
  const IValue object = load(global("__torch__", "Stateful") + ")\x81K\3K\4\x86" + "b", options);
  EXPECT_EQ(object.to_object()->attribute("total").to_int(), 7);
}

// ---- what is refused -------------------------------------------------------------------------------------
TEST(Unpickle, RefusesWhatIsNoPickle) {
  EXPECT_EQ(raw_refusal(""), "PROTO at byte 0: expected a pickle of protocol 2 to 5");
  EXPECT_EQ(raw_refusal("N."), "PROTO at byte 0: expected a pickle of protocol 2 to 5");
  EXPECT_EQ(raw_refusal("\x80\x01N."), "PROTO at byte 0: protocol 1: expected 2 to 5");
  EXPECT_EQ(raw_refusal("\x80\x06N."), "PROTO at byte 0: protocol 6: expected 2 to 5");
  EXPECT_EQ(refusal("\x80\x02N"), "PROTO at byte 2: a second protocol");
  EXPECT_EQ(refusal(""), "STOP at byte 2: the stack is empty");
  EXPECT_EQ(refusal("NN"), "STOP at byte 4: 1 items are left on the stack");
  EXPECT_EQ(refusal("N("), "STOP at byte 4: the stack is empty");
  EXPECT_EQ(raw_refusal(stream("N") + "N"), "STOP at byte 3: 1 bytes follow the end");
  EXPECT_EQ(refusal("N\x95" + bytes_of(1000, 8)),
            "FRAME at byte 3: the pickle is truncated: a frame of 1000 bytes, 1 are left");
  EXPECT_EQ(refusal("X\xff\xff\xff\xff"),
            "BINUNICODE at byte 2: the pickle is truncated: 4294967295 more bytes are needed, 1 are left");
  EXPECT_EQ(refusal("\x8d" + bytes_of(~uint64_t{0}, 8)),
            "BINUNICODE8 at byte 2: the pickle is truncated: 18446744073709551615 more bytes are needed, 1 "
            "are left");
}

TEST(Unpickle, RefusesEveryOtherOpcode) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (std::string_view("(.JKMNQRXabc}ehj]qrst)uG").find(static_cast<char>(opcode)) !=
        std::string_view::npos)
      continue;
    if ((opcode >= 0x80 && opcode <= 0x8a && (opcode < 0x82 || opcode > 0x84)) || opcode == 0x8c ||
        opcode == 0x8d || (opcode >= 0x93 && opcode <= 0x95))
      continue;
    const std::string message = refusal("NN" + std::string(1, static_cast<char>(opcode)));
    EXPECT_TRUE(message.ends_with(" at byte 4: the opcode is not allowed")) << opcode << ": " << message;
  }
  EXPECT_EQ(refusal("N0"), "POP at byte 3: the opcode is not allowed");
  EXPECT_EQ(refusal("\x96"), "BYTEARRAY8 at byte 2: the opcode is not allowed");
  EXPECT_EQ(refusal("\xfe"), "unknown opcode at byte 2: the opcode is not allowed");
}

TEST(Unpickle, RefusesDamagedStacks) {
  EXPECT_EQ(refusal("R"), "REDUCE at byte 2: the stack is empty");
  EXPECT_EQ(refusal("N\x86"), "TUPLE2 at byte 3: the stack is empty");
  EXPECT_EQ(refusal("N(\x85"), "TUPLE1 at byte 4: the stack is empty");  // not through a mark
  EXPECT_EQ(refusal("t"), "TUPLE at byte 2: there is no mark on the stack");
  EXPECT_EQ(refusal("h\5"), "BINGET at byte 2: memo entry 5 is not there");
  EXPECT_EQ(refusal("Nr\xff\xff\xff\x7f"),
            "LONG_BINPUT at byte 3: memo index 2147483647 in a pickle of 9 bytes");
  EXPECT_EQ(refusal("q\0"s), "BINPUT at byte 2: the stack is empty");
  EXPECT_EQ(refusal("}Na"), "APPEND at byte 4: expected a list, got Dict");
  EXPECT_EQ(refusal("](K\1K\2u"), "SETITEMS at byte 8: expected a dictionary, got List");
  EXPECT_EQ(refusal("}(K\1u"), "SETITEMS at byte 6: a key without a value");
  EXPECT_EQ(refusal("}]Ns"),
            "SETITEM at byte 5: expected str, int, float, bool, complex, None or Tensor as a key, got List");
  EXPECT_EQ(refusal("K\1}b"), "BUILD at byte 5: expected an object, got int");
  EXPECT_EQ(refusal("K\1)R"), "REDUCE at byte 5: expected a function or class, got int");
  EXPECT_EQ(refusal("K\1)\x81"), "NEWOBJ at byte 5: expected a function or class, got int");
  EXPECT_EQ(refusal("NN\x93"), "STACK_GLOBAL at byte 4: expected two strings");
  EXPECT_EQ(refusal(integer(0).substr(0, 1) + "\x09" + bytes_of(0, 8) + "\1"),
            "LONG1 at byte 2: the integer does not fit 64 bits");
  EXPECT_EQ(refusal("\x8a\x09" + bytes_of(uint64_t{1} << 63, 8) + '\0'),
            "LONG1 at byte 2: the integer does not fit 64 bits");
}

TEST(Unpickle, RefusesNames) {
  EXPECT_THAT(refusal(global("os", "system")),
              HasSubstr("GLOBAL at byte 2: 'os.system' is not allowed: a pickle may hold tensors"));
  EXPECT_THAT(refusal(pickled_text("builtins") + pickled_text("eval") + "\x93"),
              HasSubstr("'builtins.eval' is not allowed"));
  EXPECT_THAT(refusal(global("torch", "load")), HasSubstr("'torch.load' is not allowed"));
  EXPECT_THAT(refusal(global("torch", "f32")), HasSubstr("'torch.f32' is not allowed"));
  EXPECT_THAT(refusal(global("torch", "QUInt2x4Storage")),
              HasSubstr("'torch.QUInt2x4Storage' is not allowed: weft has no quantized tensors of two bits"));
  EXPECT_THAT(refusal(global("torch._utils", "_rebuild_sparse_tensor")),
              HasSubstr("weft has no sparse tensors"));
  EXPECT_THAT(refusal(global("torch._utils", "_rebuild_meta_tensor_no_storage")),
              HasSubstr("a meta tensor has no elements"));
  EXPECT_THAT(refusal(global("numpy.core.multiarray", "scalar")), HasSubstr("in place of a NumPy scalar"));
  EXPECT_THAT(refusal(global("builtins", "set")), HasSubstr("weft has no sets"));
  EXPECT_THAT(refusal(global("x\x01\xff", "y")), HasSubstr("'x\\x01\\xff.y' is not allowed"));
  EXPECT_EQ(refusal(global("__torch__", "None")),
            "GLOBAL at byte 2: the class '__torch__.None' is not in the archive");
  EXPECT_EQ(refusal(kNewPoint, {}), "GLOBAL at byte 2: the class '__torch__.Point' is not in the archive");
  EXPECT_EQ(refusal(global("__torch__", "Face")), "GLOBAL at byte 2: '__torch__.Face' has no objects");
  EXPECT_EQ(refusal("cnoend"), "GLOBAL at byte 2: the pickle is truncated: a line has no end");
}

TEST(Unpickle, RefusesNamesAsValues) {
  const std::string name = global("torch", "FloatStorage");
  EXPECT_THAT(refusal(name), HasSubstr("expected a value, got a name"));
  EXPECT_THAT(refusal(']' + name + 'a'), HasSubstr("a list cannot hold a name"));
  EXPECT_THAT(refusal("}K\1" + storage() + 's'), HasSubstr("a dictionary cannot hold a storage"));
  EXPECT_THAT(refusal(name + "\x85\x85"),
              HasSubstr("TUPLE1 at byte 23: a name or storage is nested too deep"));
  EXPECT_THAT(refusal(name + ")R"), HasSubstr("'torch.FloatStorage' cannot be called"));
  EXPECT_THAT(refusal(global("torch", "Size") + ")\x81"), HasSubstr("'torch.Size' is no class"));
  EXPECT_THAT(refusal(global("torch", "Size") + "NR"), HasSubstr("expected a tuple of arguments, got None"));
}

TEST(Unpickle, RefusesStorages) {
  EXPECT_THAT(refusal(storage("FloatStorage", 13)),
              HasSubstr("storage 'data/0' has 48 bytes: expected 13 elements of 4 bytes"));
  EXPECT_THAT(refusal(storage("DoubleStorage", 12)), HasSubstr("expected 12 elements of 8 bytes"));
  EXPECT_THAT(refusal(storage("FloatStorage", -1)), HasSubstr("expected -1 elements"));
  EXPECT_THAT(refusal(storage("FloatStorage", INT64_MAX)),
              HasSubstr("expected 9223372036854775807 elements"));
  EXPECT_THAT(refusal(storage("ShortStorage", 3, "1")), HasSubstr("storage 'data/1' has 7 bytes"));
  EXPECT_THAT(refusal(storage("FloatStorage", 12, "9")), HasSubstr("has no entry 'data/9'"));
  EXPECT_THAT(refusal(storage("FloatStorage", 12, "../version")),
              HasSubstr("has no entry 'data/../version'"));
  EXPECT_THAT(refusal("NQ"), HasSubstr("expected a tuple of arguments, got None"));
  EXPECT_THAT(refusal(tuple("NNNNN") + 'Q'),
              HasSubstr("expected ('storage', type, key, location, number of elements)"));
  EXPECT_THAT(refusal(tuple("NN") + 'Q'), HasSubstr("a persistent id of 2 parts: expected 5"));
  EXPECT_THROW(unpickle(stream(tensor(0, {1}, {1})), nullptr), Error);
}

TEST(Unpickle, RefusesTensors) {
  const int64_t big = int64_t{1} << 62;
  EXPECT_THAT(refusal(tensor(0, {13}, {1})),
              HasSubstr("tensor of float32 with shape [13], strides [1] and offset 0: it reaches outside its "
                        "storage (the storage has 48 bytes)"));
  EXPECT_THAT(refusal(tensor(1, {3, 4}, {4, 1})), HasSubstr("it reaches outside its storage"));
  EXPECT_THAT(refusal(tensor(12, {}, {})), HasSubstr("it reaches outside its storage"));
  EXPECT_THAT(refusal(tensor(13, {0}, {1})), HasSubstr("it reaches outside its storage"));
  EXPECT_THAT(refusal(tensor(0, {2}, {big})), HasSubstr("it reaches outside its storage"));
  EXPECT_THAT(refusal(tensor(0, {5}, {big})), HasSubstr("its size overflows"));
  EXPECT_THAT(refusal(tensor(0, {big, big}, {0, 0})), HasSubstr("its size overflows"));
  EXPECT_THAT(refusal(tensor(big, {2, 2}, {big, big})), HasSubstr("its size overflows"));
  EXPECT_THAT(refusal(tensor(-1, {2}, {1})), HasSubstr("storage offset: -1 is negative"));
  EXPECT_THAT(refusal(tensor(0, {-2}, {1})), HasSubstr("size: -2 is negative"));
  EXPECT_THAT(refusal(tensor(11, {12}, {-1})), HasSubstr("stride: -1 is negative"));
  EXPECT_THAT(refusal(tensor(0, {2, 2}, {1})), HasSubstr("2 sizes and 1 strides"));
  EXPECT_THAT(refusal(tensor(0, std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1))),
              HasSubstr("65 dimensions, more than 64"));
  EXPECT_THAT(refusal(tensor(0, {1}, {1}, "N")), HasSubstr("expected a storage as first argument"));
  const std::string conjugate = "}" + pickled_text("conj") + "\x88s";
  EXPECT_THAT(refusal(global("torch._utils", "_rebuild_tensor_v2") +
                      tuple(storage() + integer(0) + ints({1}) + ints({1}) + "\x89N" + conjugate) + 'R'),
              HasSubstr("its flag 'conj' is set"));
  EXPECT_THAT(refusal(global("torch._utils", "_rebuild_tensor_v2") + ")R"),
              HasSubstr("expected 4 to 7 arguments, got 0"));
  EXPECT_THAT(refusal(global("torch._utils", "_rebuild_parameter") + "N\x85R"),
              HasSubstr("expected Tensor, got None"));
}

TEST(Unpickle, RefusesArguments) {
  EXPECT_THAT(refusal(global("torch", "device") + pickled_text("tpu") + "\x85R"),
              HasSubstr("REDUCE at byte "));
  EXPECT_THAT(refusal(global("torch", "Size") + "N\x85R"),
              HasSubstr("torch.Size: expected a tuple of int, got None"));
  EXPECT_THAT(refusal(global("builtins", "complex") + "K\1K\2\x86R"),
              HasSubstr("complex: expected two floats"));
  EXPECT_THAT(refusal(global("collections", "OrderedDict") + "]Na\x85R"),
              HasSubstr("expected a list of pairs"));
  EXPECT_THAT(refusal(global("collections", "OrderedDict") + "])]\x86" + "a\x85R"),
              HasSubstr("as a dictionary's key, got Tuple"));
  EXPECT_THAT(refusal(global("torch.jit._pickle", "build_intlist") + "]Na\x85R"),
              HasSubstr("expected a value of List[int], got a List of others"));
}

TEST(Unpickle, RefusesTypes) {
  EXPECT_THAT(refusal(typed("]Na", "List[int]")),
              HasSubstr("the List is not of its declared type List[int]"));
  EXPECT_THAT(refusal(typed("K\1", "str")), HasSubstr("the int is not of its declared type str"));
  EXPECT_THAT(refusal(typed("]", "List[int")), HasSubstr("'List[int' is no type: expected ']' at column 9"));
  EXPECT_THAT(refusal(typed("]", "List[int, int]")), HasSubstr("expected one type in the brackets"));
  EXPECT_THAT(refusal(typed("]", "List[]")), HasSubstr("expected a name at column 6"));
  EXPECT_THAT(refusal(typed("]", "List")), HasSubstr("expected '['"));
  EXPECT_THAT(refusal(typed("}", "Dict[int]")), HasSubstr("expected two types"));
  EXPECT_THAT(refusal(typed("}", "Dict[Tuple[int], int]")), HasSubstr("keys are str"));
  EXPECT_THAT(refusal(typed("]", "List[int] x")), HasSubstr("expected its end"));
  EXPECT_THAT(refusal(typed("]", "List[Foo]")), HasSubstr("there is no type 'Foo'"));
  EXPECT_THAT(refusal(typed("]", "List[__torch__.Foo]")), HasSubstr("there is no type '__torch__.Foo'"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "List[";
  EXPECT_THAT(refusal(typed("]", deep)), HasSubstr("it is nested too deep"));
  EXPECT_THAT(refusal(typed("]", "List[int]") + pickled_text("x") + 'a'),
              HasSubstr("filled after its type was stated"));
  EXPECT_THAT(refusal(typed("}", "Dict[str, int]") + pickled_text("x") + "Ns"),
              HasSubstr("filled after its type was stated"));
}

TEST(Unpickle, RefusesObjects) {
  EXPECT_THAT(refusal(kNewPoint), HasSubstr("an object of __torch__.Point has no attributes"));
  EXPECT_THAT(refusal(kNewPoint + "Nb"), HasSubstr("expected a dictionary of its attributes, got None"));
  EXPECT_THAT(refusal(kNewPoint + "}b"), HasSubstr("__torch__.Point: the attribute 'x' is missing"));
  EXPECT_THAT(refusal(kNewPoint + "}(" + pickled_text("x") + "K\1" + pickled_text("y") + "Nub"),
              HasSubstr("__torch__.Point: the attribute 'x' is a int: expected List[int]"));
  EXPECT_THAT(refusal(kNewPoint + "}(" + pickled_text("x") + "](Ne" + pickled_text("y") + "Nub"),
              HasSubstr("the attribute 'x' is a List: expected List[int]"));
  EXPECT_THAT(refusal(global("__torch__", "Point") + "N\x85\x81"),
              HasSubstr("__torch__.Point: expected no arguments"));
  EXPECT_THAT(refusal(global("__torch__", "Stateful") + ")\x81Nb"),
              HasSubstr("__setstate__ cannot be called here"));
  EXPECT_THAT(refusal(global("__torch__", "Color") + "K\7R"),
              HasSubstr("__torch__.Color has no member of value 7"));
  EXPECT_THAT(refusal(global("__torch__", "Color") + "]R"),
              HasSubstr("__torch__.Color: expected a number or str, got List"));
  EXPECT_THAT(refusal(global("__torch__", "Pair") + ")\x81"), HasSubstr("__torch__.Pair: expected 2 values"));
}

// ---- nesting ---------------------------------------------------------------------------------------------
std::string repeated(const std::string& piece, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += piece;
  return result;
}
constexpr int kMany = 200000;

TEST(Unpickle, RefusesValuesThatContainThemselves) {
  EXPECT_THAT(refusal("]q\0h\0a"s), HasSubstr("a List contains itself"));
  EXPECT_THAT(refusal("}q\0K\1h\0s"s), HasSubstr("a Dict contains itself"));
  EXPECT_THAT(refusal("]q\0h\0\x85"s
                      "a"),
              HasSubstr("contains itself"));
  EXPECT_THAT(refusal(kNewPoint + "q\0}("s + pickled_text("x") + "]" + pickled_text("y") + "h\0ub"s),
              HasSubstr("contains itself"));
  EXPECT_THAT(refusal(typed("]q\0h\0a"s, "List[List[int]]")), HasSubstr("REDUCE"));
}

TEST(Unpickle, RefusesDeepNesting) {
  EXPECT_EQ(load(repeated("]", 1000) + repeated("a", 999)).elements().size(), 1u);
  EXPECT_THAT(refusal(repeated("]", 1001) + repeated("a", 1000)), HasSubstr("nested deeper than 1000"));
  EXPECT_THAT(refusal(repeated("]", kMany) + repeated("a", kMany - 1)), HasSubstr("nested deeper than 1000"));
  EXPECT_THAT(refusal(")" + repeated("\x85", kMany)), HasSubstr("nested deeper than 1000"));
  EXPECT_THAT(refusal(repeated("}N", kMany) + "N" + repeated("s", kMany)),
              HasSubstr("nested deeper than 1000"));
  EXPECT_THAT(refusal(")" + repeated("\x85", kMany) + "Z"),
              HasSubstr("the opcode is not allowed"));  // and is taken apart
}

// Chains from the outside in, which no count of levels while they are made would notice.
TEST(Unpickle, RefusesDeepNestingMadeFromTheOutside) {
  std::string body = "]q\0"s;
  for (int i = 0; i < kMany; ++i)
    body +=
        "]q\1a"s
        "h\1q\2"s;
  EXPECT_THAT(refusal(body), HasSubstr("are left on the stack"));
  body = "]q\0h\0"s;
  for (int i = 0; i < 1000; ++i)
    body += "]r" + bytes_of(static_cast<uint64_t>(i + 1), 4) + "a" + "j" +
            bytes_of(static_cast<uint64_t>(i + 1), 4);
  EXPECT_THAT(refusal(body), HasSubstr("are left on the stack"));
}

TEST(Unpickle, DropsWhatIsNotReached) {
  // A cycle and a deep tuple that only the memo holds.
  const std::string garbage =
      "}q\0("s
      "K\1]q\1h\1a"s
      "K\2)" +
      repeated("\x85", kMany) + "q\2u"s;
  EXPECT_THAT(refusal(garbage), HasSubstr("contains itself"));
  EXPECT_EQ(load("}" + pickled_text("x") +
                 "]q\1h\1a"s
                 "s" +
                 pickled_text("x") + "Ns")
                .to_dict()
                ->size(),
            1u);
}

TEST(Unpickle, RefusesStreamsThatRepeatThemselves) {
  // One list of pairs, made into a dictionary again and again.
  std::string body =
      "](" + repeated("NN\x86", 2000) + "eq\0"s + global("collections", "OrderedDict") + "q\1](";
  body += repeated("h\1h\0\x85R"s, 2000) + "e\x86";
  EXPECT_THAT(refusal(body), HasSubstr("it repeats itself more than its length allows"));
  UnpickleOptions few = with_types();
  few.max_items = 10;
  EXPECT_THAT(refusal("]" + repeated("Na", 10), few), HasSubstr("more than 10 items"));
}

TEST(Unpickle, SurvivesEveryFlippedBitAndTruncation) {
  const std::string whole =
      stream("}(" + pickled_text("p") + kNewPoint + "}(" + pickled_text("x") + "](K\1e" + pickled_text("y") +
             tensor(2, {2, 3}, {3, 1}) + "ub" + pickled_text("t") + typed("]K\1a", "List[int]") +
             pickled_text("c") + global("__torch__", "Color") + "K\1R" + "u");
  EXPECT_NO_THROW(unpickle(whole, storages().get(), with_types()));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(raw_refusal(whole.substr(0, size)), "no error");
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    raw_refusal(bytes);
  }
}

// ---- pickling --------------------------------------------------------------------------------------------
// Saves the value, with what types it has, and loads it again.
IValue round_trip(const IValue& value, const UnpickleOptions& options = with_types()) {
  ArchiveWriter writer("m");
  const std::string bytes = pickle(value, writer);
  writer.add("version", std::as_bytes(std::span("3", 1)));
  return unpickle(bytes, ArchiveReader::from_bytes(writer.finish(), "m.pt").get(), options);
}

TEST(Pickle, KeepsTypes) {
  IValue dict = IValue::dict(Type::string(), Type::list(Type::tuple({Type::integer(), Type::string()})));
  dict.to_dict()->set(
      "a", IValue::list(Type::tuple({Type::integer(), Type::string()}), {IValue::tuple({1, "x"})}));
  const IValue values[] = {IValue(std::vector<int64_t>{1, -2, int64_t{1} << 40}),
                           IValue(std::vector<double>{1.5}),
                           IValue(std::vector<bool>{true}),
                           IValue(std::vector<std::string>{"a", "b", "a"}),
                           dict,
                           IValue::list(Type::optional(Type::integer()), {nullptr, 1}),
                           IValue(std::complex<double>(1, -2)),
                           IValue(Device{}),
                           IValue::tuple({1, 2, 3, 4})};
  for (const IValue& value : values) {
    const IValue result = round_trip(value);
    EXPECT_EQ(result.type()->str(), value.type()->str());
    EXPECT_EQ(result.repr(), value.repr());
  }
}

TEST(Pickle, ObjectsAndEnums) {
  const IValue point = load(kNewPoint + "}(" + pickled_text("x") + "](K\1e" + pickled_text("y") +
                            global("__torch__", "Color") + "K\2Rub");
  const IValue again = round_trip(IValue::tuple({point, point}));
  EXPECT_TRUE(again.elements()[0].is_same(again.elements()[1]));
  EXPECT_EQ(again.elements()[0].to_object()->attribute("x").repr(), "[1]");
  EXPECT_EQ(again.elements()[0].to_object()->attribute("y").repr(), "Color.BLUE");
}

TEST(Pickle, GetState) {
  auto object = std::make_shared<Object>();
  object->type = std::const_pointer_cast<ClassType>(
      std::static_pointer_cast<const ClassType>(find_type("__torch__.Stateful")));
  object->slots = {7};
  PickleOptions options;
  options.get_state = [](const std::shared_ptr<Object>& from) { return IValue::tuple({from->slots[0], 0}); };
  ArchiveWriter writer("m");
  const std::string bytes = pickle(object, writer, options);
  UnpickleOptions back = with_types();
  back.set_state = [](const std::shared_ptr<Object>& to, IValue state) {
    to->slots[0] = state.elements()[0];
  };
  EXPECT_EQ(unpickle(bytes, nullptr, back).to_object()->slots[0].to_int(), 7);
}

TEST(Pickle, RefusesWhatHasNoPickle) {
  const auto refused = [](const IValue& value) {
    ArchiveWriter writer("m");
    try {
      pickle(value, writer);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(refused(std::make_shared<Future>(Type::integer())),
            "pickle: a Future cannot be saved: wait for its value first");
  EXPECT_EQ(refused(Tensor()), "pickle: an undefined tensor");
  const IValue list = IValue::list(Type::any());
  list.to_list()->values.push_back(list);
  EXPECT_EQ(refused(list), "a List contains itself");
  list.to_list()->values.clear();
  ArchiveWriter writer("m");
  EXPECT_THROW(save_value_bytes(load(kNewPoint + "}(" + pickled_text("x") + "]" + pickled_text("y") + "Nub")),
               Error);
}

TEST(Pickle, StoragesAreWrittenOnce) {
  const Tensor base = Tensor::full({1000}, 1.0, DType::F32);
  const IValue value =
      IValue::tuple({base, base.as_strided({10}, {1}, 5), base.as_strided({5, 5}, {0, 2}, 0)});
  const std::string bytes = save_value_bytes(value);
  EXPECT_LT(bytes.size(), 4000u + 1500u);
  const IValue again = load_value_bytes(bytes);
  EXPECT_EQ(again.elements()[0].to_tensor().storage(), again.elements()[2].to_tensor().storage());
  EXPECT_EQ(again.elements()[2].to_tensor().strides(), (Strides{0, 2}));
}

}  // namespace
}  // namespace weft::jit
