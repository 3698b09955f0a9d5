// What a program asks of its arguments' sizes beside ranges: "L['x'].size()[0] % 2 == 0".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exported/size_arithmetic.h"
#include "weft/exported.h"

namespace weft::exported {

class Guard {
 public:
  // nullopt of one that asks something else than whole numbers of sizes and strides, or of what is no input:
  // PyTorch writes guards from its tracing too, which the program itself holds.
  static std::optional<Guard> parse(const std::string& text, std::span<const Input> inputs);

  // values: of all inputs. raises: ValueError with the guard and the sizes that it is about.
  void check(std::span<const IValue> values, std::span<const Input> inputs) const;

 private:
  class Parser;
  struct Node {
    enum class Kind : uint8_t { Number, Size, Stride, Value, Not, And, Or, Operation };
    Kind kind = Kind::Number;
    SizeOperation operation = SizeOperation::Equal;
    int64_t number = 0;
    size_t input = 0, dim = 0;
    std::vector<Node> operands;
  };
  static std::optional<int64_t> evaluate(const Node& node, std::span<const IValue> values);
  static std::string place(const Node& node, std::span<const Input> inputs);

  Node root_;
  // The text between the places of arguments.
  std::vector<std::pair<std::string, Node>> parts_;
  std::string rest_;
};

}  // namespace weft::exported
