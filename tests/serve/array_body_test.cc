#include "serve/array_body.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/api_error.h"
#include "serve/base64.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kBytes = 1 << 20;

ArrayRequest parse(const std::string& inputs) {
  return parse_arrays(R"({"inputs": )" + inputs + "}", kBytes);
}
IValue array(const std::string& text) { return parse("[" + text + "]").arrays.at(0).second; }
std::string shown(const std::string& text) {
  const IValue value = array(text);
  if (!value.is_tensor()) return value.repr();
  return describe(value.to_tensor()) + " " + arrays_json("m", {{"out", value}});
}
ApiError refusal(const std::string& body, uint64_t max_bytes = kBytes) {
  try {
    parse_arrays(body, max_bytes);
  } catch (const ApiError& error) {
    return error;
  }
  return ApiError(0, "accepted");
}

TEST(ArrayBodies, Numbers) {
  EXPECT_THAT(shown("3"), HasSubstr(R"("dtype":"int64","shape":[],"data":3})"));
  EXPECT_THAT(shown("[[1, 2, 3]]"), HasSubstr(R"("int64","shape":[1,3],"data":[[1,2,3]])"));
  EXPECT_THAT(shown("[[1, 2.5]]"), HasSubstr(R"("float64","shape":[1,2],"data":[[1,2.5]])"));
  EXPECT_THAT(shown("[true, false]"), HasSubstr(R"("bool","shape":[2],"data":[true,false])"));
  EXPECT_THAT(shown("[1.5, \"NaN\", \"-Infinity\"]"), HasSubstr(R"([1.5,"NaN","-Infinity"])"));
  EXPECT_THAT(shown("[[], []]"), HasSubstr(R"("float64","shape":[2,0],"data":[])"));
  EXPECT_THAT(shown("-9223372036854775808"), HasSubstr("-9223372036854775808"));
  EXPECT_EQ(parse("[[1.5], [2]]").any_float.size(), 1);
}

TEST(ArrayBodies, NamedDtypes) {
  EXPECT_THAT(shown(R"({"dtype": "float32", "data": [[0.1, 1]]})"), HasSubstr(R"("data":[[0.1,1]])"));
  EXPECT_THAT(shown(R"({"dtype": "float32", "shape": [2, 1], "data": [1, "NaN"]})"),
              HasSubstr(R"("shape":[2,1],"data":[[1],["NaN"]])"));
  EXPECT_THAT(shown(R"({"dtype": "int8", "data": [-128, 127]})"), HasSubstr("[-128,127]"));
  EXPECT_THAT(shown(R"({"dtype": "bfloat16", "data": 0.5})"),
              HasSubstr(R"("bfloat16","shape":[],"data":0.5)"));
  EXPECT_THAT(shown(R"({"dtype": "int16", "shape": [2], "base64": "AQD//w=="})"), HasSubstr("[1,-1]"));
  EXPECT_THAT(shown(R"({"dtype": "float32", "shape": [0, 3], "data": []})"), HasSubstr(R"("shape":[0,3])"));
  EXPECT_THAT(shown(R"({"dtype": "float32", "shape": [1099511627776, 0], "base64": ""})"),
              HasSubstr(R"("data":[])"));
  EXPECT_TRUE(parse(R"([{"dtype": "float64", "data": [1.5]}])").any_float.empty());
}

TEST(ArrayBodies, TextAndContainers) {
  EXPECT_EQ(array("\"a\"").to_string(), "a");
  EXPECT_EQ(array("[\"a\", \"b\"]").elements().size(), 2);
  const ArrayRequest request = parse(R"({"x": 1, "states": {"0": [1], "1": {"left": 2}}, "none": null})");
  ASSERT_EQ(request.arrays.size(), 3);
  EXPECT_EQ(request.arrays[0].first, "states.0");
  EXPECT_EQ(request.arrays[1].first, "states.1.left");
  EXPECT_EQ(parse_arrays(R"({"inputs": [], "model": "m"})", 1).model, "m");
}

TEST(ArrayBodies, Refusals) {
  for (const auto& [inputs, message] : std::vector<std::pair<std::string, std::string>>{
           {"[[[1], 2]]", "different lengths"},
           {"[[[1], [2, 3]]]", "different lengths"},
           {"[[1, true]]", "among true and false"},
           {"[[1, \"a\"]]", "among its numbers"},
           {"[[1, null]]", "holds null"},
           {"[[1, {}]]", "holds object"},
           {"[[[\"a\"]]]", "lists of lists of strings"},
           {"[18446744073709551615]", "expected whole numbers"},
           {R"([{"dtype": "int8", "data": [128]}])", "between -128 and 127"},
           {R"([{"dtype": "uint8", "data": [-1]}])", "between 0 and 255"},
           {R"([{"dtype": "int32", "data": [1.5]}])", "expected whole numbers"},
           {R"([{"dtype": "bool", "data": [1]}])", "among true and false"},
           {R"([{"dtype": "complex64", "data": [1]}])", "is complex"},
           {R"([{"dtype": "float31", "data": [1]}])", "unknown dtype 'float31'"},
           {R"([{"dtype": "float32"}])", "one of data and base64"},
           {R"([{"dtype": "float32", "data": 1, "base64": ""}])", "one of data and base64"},
           {R"([{"dtype": "float32", "data": 1, "other": 1}])", "has 'other'"},
           {R"([{"dtype": "float32", "shape": [3], "data": [1, 2]}])", "has data of shape [2], and says [3]"},
           {R"([{"dtype": "float32", "shape": [-1], "data": [1]}])", "no list of sizes"},
           {R"([{"dtype": "float32", "shape": [4611686018427387904, 4], "base64": ""}])", "too large"},
           {R"([{"dtype": "float32", "shape": [4611686018427387904, 0, 4], "base64": ""}])", "too large"},
           {R"([{"dtype": "float32", "shape": [2], "base64": "AAAA"}])",
            "has 3 bytes: [2] of float32 need 8"},
           {R"([{"dtype": "float32", "shape": [1], "base64": "A"}])", "is no base64"},
           {R"([{"dtype": "bool", "shape": [3], "base64": "AAEC"}])", "neither 0 nor 1"},
           {"5", "must be an object"}}) {
    const ApiError error = refusal(R"({"inputs": )" + inputs + "}");
    EXPECT_EQ(error.status, 400) << inputs;
    EXPECT_THAT(error.message, HasSubstr(message)) << inputs;
  }
  EXPECT_THAT(refusal("{}").message, HasSubstr("'inputs' is missing"));
  EXPECT_THAT(refusal("[1").message, HasSubstr("the request's body"));
  EXPECT_THAT(refusal(R"({"inputs": [)" + std::string(100, '[')).message, HasSubstr("the request's body"));
  EXPECT_EQ(refusal(R"({"inputs": [], "model": 5})").parameter, "model");
  EXPECT_EQ(refusal(R"({"inputs": [[1, 2, 3]]})", 16).status, 413);
  EXPECT_EQ(refusal(R"({"inputs": [[1, 2]]})", 16).status, 0);
}

TEST(ArrayBodies, WhatJsonHasNot) {
  EXPECT_THROW(arrays_json("m", {{"out", Tensor::scalar(Scalar(1.0), DType::C64)}}), ApiError);
  const auto json =
      nlohmann::json::parse(arrays_json("\"m", {{"a\"", 5}, {"b", "te\"xt"}, {"c", true}, {"d", 0.1}}));
  EXPECT_EQ(json["outputs"]["a\""], 5);
  EXPECT_EQ(json["outputs"]["b"], "te\"xt");
  EXPECT_EQ(json["outputs"]["d"], 0.1);
}

TEST(Base64, IsReadExactly) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("YQ=="), "a");
  EXPECT_EQ(from_base64("YW\nI="), "ab");
  EXPECT_EQ(from_base64("YWJj"), "abc");
  EXPECT_EQ(from_base64("+/+/"), "\xfb\xff\xbf");
  for (const char* wrong : {"Y", "YQ", "YQ=", "Y===", "====", "YQ==YQ==", "YW=j", "YQ==\x01", "-_-_"})
    EXPECT_FALSE(from_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace weft::serve
