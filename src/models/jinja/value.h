// Values of templates, as Python has them: immutable but for namespaces, and all in one heap that ends at
// once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::models::jinja {

// What a template raises; `kind` is the name of Python's class.
struct Failure {
  std::string kind, message;
};
[[noreturn]] void fail(const char* kind, std::string message);
[[noreturn]] void fail_type(std::string message);

enum class Kind : uint8_t {
  None,
  Undefined,
  Boolean,
  Integer,
  Float,
  String,
  List,
  Tuple,
  Dict,
  Range,
  View,       // keys(), values(), items()
  Generator,  // what filters give that compute their elements one by one
  Namespace,
  Function,
  Macro,
  Loop,
  Cycler,
  Joiner
};

struct Object {
  virtual ~Object() = default;
};

class Value {
 public:
  Value() = default;  // None
  Value(Kind kind, Object* object) : kind_(kind), object_(object) {}
  static Value boolean(bool value) { return {Kind::Boolean, int64_t{value}}; }
  static Value integer(int64_t value) { return {Kind::Integer, value}; }
  static Value real(double value) {
    Value made(Kind::Float, int64_t{0});
    made.real_ = value;
    return made;
  }
  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::Undefined; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_string() const { return kind_ == Kind::String; }
  bool is_whole() const { return kind_ == Kind::Integer || kind_ == Kind::Boolean; }
  bool is_number() const { return is_whole() || kind_ == Kind::Float; }
  int64_t integer() const { return integer_; }  // of booleans as well
  double real() const { return kind_ == Kind::Float ? real_ : static_cast<double>(integer_); }
  template <class T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  const Object* object() const { return object_; }
  const std::string& text() const;  // of a string

 private:
  Value(Kind kind, int64_t value) : kind_(kind), integer_(value) {}
  Kind kind_ = Kind::None;
  union {
    int64_t integer_ = 0;
    double real_;
    Object* object_;
  };
};

struct Text : Object {
  explicit Text(std::string of) : text(std::move(of)) {}
  std::string text;
  bool is_markup = false;
};
inline const std::string& Value::text() const { return as<Text>().text; }

// Of lists, tuples, views and generators.
struct Elements : Object {
  explicit Elements(std::vector<Value> of) : items(std::move(of)) {}
  std::vector<Value> items;
  const char* view = "";     // of a view: dict_keys, …
  bool is_consumed = false;  // of a generator
  bool is_group = false;     // a tuple with the names grouper and list
};

struct Range : Object {
  Range(int64_t from, int64_t to, int64_t by) : start(from), stop(to), step(by) {}
  int64_t start, stop, step;
  int64_t size() const;
};

struct ValueHash {
  size_t operator()(const Value& value) const;
};
struct ValueEqual {
  bool operator()(const Value& a, const Value& b) const;
};

// In the order in which keys came.
class Dict : public Object {
 public:
  const Value* find(const Value& key) const;  // TypeError for a key that has no hash
  void set(const Value& key, const Value& value);
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_map<Value, size_t, ValueHash, ValueEqual> positions_;
};

struct Namespace : Object {
  Dict* attributes = nullptr;
};

// Why a value is not there.
struct Absent : Object {
  std::string hint;  // the whole message, or
  Value object;      // what has no `name`
  bool has_object = false;
  Value name;
  const char* error = "UndefinedError";
  std::string message() const;
};
[[noreturn]] void fail_undefined(const Value& value);

// What one rendering may take. TemplateError past it.
struct Limits {
  int64_t steps = 20'000'000;
  int64_t bytes = int64_t{256} << 20;  // of all values that are made
  int depth = 1000;                    // of expressions, statements and calls within each other
};

// What a template makes, until it ends.
class Heap {
 public:
  explicit Heap(Limits limits) : limits_(limits) {}
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    charge(sizeof(T) + 16);
    auto object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T* const made = object.get();
    objects_.push_back(std::move(object));
    return made;
  }
  Value text(std::string text);
  Value elements(Kind kind, std::vector<Value> items);
  Value list(std::vector<Value> items) { return elements(Kind::List, std::move(items)); }
  Value tuple(std::vector<Value> items) { return elements(Kind::Tuple, std::move(items)); }
  Value generator(std::vector<Value> items) { return elements(Kind::Generator, std::move(items)); }
  Value undefined(std::string hint);
  Value undefined_name(std::string_view name);
  Value undefined_of(const Value& object, const Value& name);

  void step(int64_t count = 1) {
    if ((steps_ += count) > limits_.steps) fail_steps();
  }
  void charge(size_t bytes) {
    if (bytes > static_cast<size_t>(limits_.bytes) || (bytes_ += static_cast<int64_t>(bytes)) > limits_.bytes)
      fail_bytes();
  }
  const Limits& limits() const { return limits_; }

 private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_bytes() const;
  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
};

// "str", "NoneType", …
const char* type_name(const Value& value);
bool is_true(const Value& value);
int64_t length_of(const Value& value);  // TypeError for what has none
// str(value) and repr(value). What is printed counts as memory, so that values that share parts end as well.
std::string to_text(Heap& heap, const Value& value);
std::string to_repr(Heap& heap, const Value& value);
std::string repr_of_text(std::string_view text);
std::string float_text(double value);  // Python's repr

// The elements in their order; a generator's once. TypeError for what cannot be iterated.
std::vector<Value> iterate(Heap& heap, const Value& value);
bool can_iterate(const Value& value);

bool is_equal(Heap& heap, const Value& a, const Value& b);
// a < b as Python compares; `symbol` is for the TypeError.
bool is_less(Heap& heap, const Value& a, const Value& b, const char* symbol = "<");
bool contains(Heap& heap, const Value& container, const Value& value);

}  // namespace weft::models::jinja
