// A library with the functions of libcublasLt that weft calls, for emulated GPUs: products are loops on the
// host. FAKE_CUBLASLT says what it does otherwise: the name of a function fails; "slow": algorithms take
// their time; "wrong", "wrong 1": all results, or those of the first algorithm; "tf32": operands are rounded
// to TF32; "nothing": it writes nothing; "nan": relu makes zeros of NaN; "late": every product after the
// 100th fails. Each product is told on stderr.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int products = 0;  // so far

std::string behaviour() {
  const char* set = std::getenv("FAKE_CUBLASLT");
  return set != nullptr ? set : "";
}
int status_of(const char* function) { return behaviour() == function ? 13 : 0; }

struct Description {
  int compute, scale, a_operation = 0, b_operation = 0, epilogue = 1;
  const void* bias = nullptr;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t step = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7, alignments[4] = {256, 256, 256, 256};
};
struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// The process's address of memory of an emulated GPU.
template <class T>
T* here(T* there) {
  return there != nullptr ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(there) ^ (uintptr_t{1} << 63))
                          : nullptr;
}

double load(const void* data, int type, int64_t at) {
  switch (type) {
    case 0: return static_cast<const float*>(data)[at];
    case 1: return static_cast<const double*>(data)[at];
    case 2: return static_cast<double>(static_cast<const _Float16*>(data)[at]);
    case 3: return static_cast<const int8_t*>(data)[at];
    case 10: return static_cast<const int32_t*>(data)[at];
    default: {
      const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
  }
}
void store(void* data, int type, int64_t at, double value) {
  switch (type) {
    case 0: static_cast<float*>(data)[at] = static_cast<float>(value); return;
    case 1: static_cast<double*>(data)[at] = value; return;
    case 2: static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value); return;
    case 10: static_cast<int32_t*>(data)[at] = static_cast<int32_t>(static_cast<int64_t>(value)); return;
    default: {
      const float narrow = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &narrow, 4);
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
}

double tf32(double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

double activated(double x, int epilogue) {
  if ((epilogue & 2) != 0) return behaviour() == "nan" ? (x > 0 ? x : 0) : (x < 0 ? 0 : x);
  if ((epilogue & 32) != 0)
    return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  return x;
}

double scale_value(const void* value, int scale_type) {
  return scale_type == 1    ? *static_cast<const double*>(value)
         : scale_type == 10 ? *static_cast<const int32_t*>(value)
                            : *static_cast<const float*>(value);
}

bool is_known(const Description& d, const Layout& a, const Layout& b, const Layout& c) {
  const bool types = a.type == 3   ? d.compute == 72 && d.scale == 10 && c.type == 10 && d.epilogue == 1
                     : a.type == 1 ? d.compute == 70 && d.scale == 1 && c.type == 1 && d.epilogue == 1
                                   : d.compute == 68 && d.scale == 0 && c.type == a.type;
  return types && a.type == b.type && a.leading >= static_cast<int64_t>(a.rows) &&
         b.leading >= static_cast<int64_t>(b.rows) && c.leading >= static_cast<int64_t>(c.rows) &&
         a.batches == b.batches && a.batches == c.batches;
}

}  // namespace

extern "C" {
int weft_emulated_device = 1;
int fake_cublaslt_products() { return products; }

int cublasLtCreate(void** made) {
  static int one;
  return *made = &one, status_of("cublasLtCreate");
}
int cublasLtMatmulDescCreate(void** made, int compute, int scale) {
  return *made = new Description{compute, scale}, status_of("cublasLtMatmulDescCreate");
}
int cublasLtMatmulDescDestroy(void* ended) { return delete static_cast<Description*>(ended), 0; }
int cublasLtMatmulDescSetAttribute(void* changed, int attribute, const void* value, size_t bytes) {
  auto& d = *static_cast<Description*>(changed);
  void* const to = attribute == 3   ? static_cast<void*>(&d.a_operation)
                   : attribute == 4 ? &d.b_operation
                   : attribute == 7 ? &d.epilogue
                                    : static_cast<void*>(&d.bias);
  if (bytes != (attribute == 8 ? 8 : 4)) return 7;
  return std::memcpy(to, value, bytes), status_of("cublasLtMatmulDescSetAttribute");
}
int cublasLtMatrixLayoutCreate(void** made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  return *made = new Layout{type, rows, columns, leading}, status_of("cublasLtMatrixLayoutCreate");
}
int cublasLtMatrixLayoutDestroy(void* ended) { return delete static_cast<Layout*>(ended), 0; }
int cublasLtMatrixLayoutSetAttribute(void* changed, int attribute, const void* value, size_t bytes) {
  auto& layout = *static_cast<Layout*>(changed);
  void* const to = attribute == 5 ? static_cast<void*>(&layout.batches) : static_cast<void*>(&layout.step);
  if (bytes != (attribute == 5 ? 4 : 8)) return 7;
  return std::memcpy(to, value, bytes), status_of("cublasLtMatrixLayoutSetAttribute");
}
int cublasLtMatmulPreferenceCreate(void** made) {
  return *made = new Preference, status_of("cublasLtMatmulPreferenceCreate");
}
int cublasLtMatmulPreferenceDestroy(void* ended) { return delete static_cast<Preference*>(ended), 0; }
int cublasLtMatmulPreferenceSetAttribute(void* changed, int attribute, const void* value, size_t bytes) {
  auto& p = *static_cast<Preference*>(changed);
  void* const to = attribute == 1   ? static_cast<void*>(&p.workspace)
                   : attribute == 3 ? static_cast<void*>(&p.reductions)
                                    : static_cast<void*>(&p.alignments[attribute - 5]);
  if (bytes != (attribute == 1 ? 8 : 4)) return 7;
  return std::memcpy(to, value, bytes), status_of("cublasLtMatmulPreferenceSetAttribute");
}
int cublasLtMatmulAlgoGetHeuristic(void*, void* product, void* a, void* b, void* c, void* d, void* preference,
                                   int wanted, void* heuristics, int* found) {
  auto* const results = static_cast<Heuristic*>(heuristics);
  const auto& p = *static_cast<Preference*>(preference);
  if (p.reductions != 2 || c != d || wanted < 3) return 7;
  if (const int status = status_of("cublasLtMatmulAlgoGetHeuristic")) return status;
  if (!is_known(*static_cast<Description*>(product), *static_cast<Layout*>(a), *static_cast<Layout*>(b),
                *static_cast<Layout*>(d)))
    return 15;
  // The second one wants memory, the third one is none.
  for (int k = 0; k < 3; ++k) {
    results[k] = Heuristic{};
    results[k].algorithm.data[0] = static_cast<uint64_t>(k) + 1;
    for (int operand = 0; operand < 4; ++operand)
      results[k].algorithm.data[1 + operand] = p.alignments[operand];
    results[k].workspace = k == 1 ? 4096 : 0;
    results[k].state = k == 2 ? 15 : 0;
  }
  return *found = 3, 0;
}
int cublasLtMatmul(void*, void* product, const void* alpha, const void* a_there, void* a_layout,
                   const void* b_there, void* b_layout, const void* beta, const void* c_there, void* c_layout,
                   void* d_there, void* d_layout, const void* chosen, void* workspace, size_t workspace_bytes,
                   void* stream) {
  const auto* const algorithm = static_cast<const Algorithm*>(chosen);
  const std::string how = behaviour();
  if (const int status = status_of("cublasLtMatmul")) return status;
  if (how == "late" && products >= 100) return 13;
  if (stream == nullptr || c_layout != d_layout) return 7;
  int operand = 0;
  for (const void* address : {a_there, b_there, c_there, static_cast<const void*>(d_there)})
    if (reinterpret_cast<uintptr_t>(address) % algorithm->data[++operand] != 0) return 7;
  const auto& p = *static_cast<Description*>(product);
  const auto &a = *static_cast<Layout*>(a_layout), &b = *static_cast<Layout*>(b_layout),
             &d = *static_cast<Layout*>(d_layout);
  if (algorithm->data[0] == 2) {
    if (workspace == nullptr || workspace_bytes != 4096) return 7;
    std::memset(here(workspace), 0x5a, workspace_bytes);
  }
  ++products;
  std::fprintf(stderr, "fake cublasLtMatmul %llu\n", static_cast<unsigned long long>(algorithm->data[0]));
  if (how == "nothing") return 0;
  const int64_t depth = static_cast<int64_t>(p.a_operation == 0 ? a.columns : a.rows);
  const double factor = scale_value(alpha, p.scale), kept = scale_value(beta, p.scale);
  const bool is_wrong = how == "wrong" || (how == "wrong 1" && algorithm->data[0] == 1);
  for (int64_t batch = 0; batch < d.batches; ++batch)
    for (int64_t column = 0; column < static_cast<int64_t>(d.columns); ++column)
      for (int64_t row = 0; row < static_cast<int64_t>(d.rows); ++row) {
        double sum = 0;
        // The last column is one element short.
        const int64_t end = is_wrong && column + 1 == static_cast<int64_t>(d.columns) ? depth - 1 : depth;
        for (int64_t k = 0; k < end; ++k) {
          const int64_t a_at = p.a_operation == 0 ? row + k * a.leading : k + row * a.leading,
                        b_at = p.b_operation == 0 ? k + column * b.leading : column + k * b.leading;
          double x = load(here(a_there), a.type, batch * a.step + a_at),
                 y = load(here(b_there), b.type, batch * b.step + b_at);
          if (how == "tf32") x = tf32(x), y = tf32(y);
          sum += x * y;
        }
        const int64_t at = batch * d.step + row + column * d.leading;
        sum *= factor;
        if (kept != 0) sum += kept * load(here(c_there), d.type, at);
        if ((p.epilogue & 4) != 0) sum += load(here(p.bias), d.type, row);
        store(here(d_there), d.type, at, activated(sum, p.epilogue));
      }
  return 0;
}
}
