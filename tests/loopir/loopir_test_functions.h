// Functions as text, for the tests of the form.
#pragma once

#include <string>

namespace weft::loopir {

// s += a[i] for i in range(i, n), of integers: the sum may overflow. Block 1 has a version without the
// index's check.
inline std::string sum_of_elements() {
  return R"(function sum {
  array a: i64 dims 1 unit 1
  var i_i: i64
  var n_i: i64
  var s_i: i64
  param i_i: i64
  param n_i: i64
  param s_i: i64
  exit 0 words 1
  exit 1 words 3
  block 0 line 2 {
    go b1
  }
  block 1 line 3 inside 1 {
    in_turn "'s_i' \"may\" overflow"
    preheader {
      counter -1 from i_i to sub(n_i, 1)
      where lt(i_i, n_i)
      fit 60()
      check stays_in(1L, 0L, first, last, 0L, a_n0)
    }
    test i_i < n_i else b2
    t1: i64 = i_i + 1L
    t2 = settle i_i in a_n0 else exit 1(i_i, n_i, s_i)
    t3: i64 = load a_data[t2]
    t4: i64 = overflows __builtin_add_overflow(s_i, t3) else exit 1(i_i, n_i, s_i)
    go b1(i_i: i64 = t1, s_i: i64 = t4)
    version step "1L" meets {
      block 1 {
        test i_i < n_i else b2
        t5: i64 = i_i + 1L
        t6: i64 = load a_data[i_i]
        t7: i64 = overflows __builtin_add_overflow(s_i, t6) else exit 1(i_i, n_i, s_i)
        go v1 b1(i_i: i64 = t5, s_i: i64 = t7)
      }
    }
  }
  block 2 line 4 {
    go exit 0(s_i)
  }
}
)";
}

// A jump that exchanges two variables, floats, a condition, a call.
inline std::string doubled_sum() {
  return R"(function doubled {
  callee pow: Function2 at 0
  lists 1
  var k_i: i64
  var x_f: f64
  var y_f: f64
  param x_f: f64
  param y_f: f64
  param k_i: i64 nonnegative
  exit 0 words 2
  block 0 line 7 {
    test k_i > 0 else b1
    t1: i64 = k_i - 1L
    t2: f64 = x_f + y_f
    t3: f64 = minimum:f64(t2, @c_pow(x_f, 2.0))
    t4: bool = t3 < y_f
    if t4 b0(k_i: i64 = t1, x_f: f64 = t3)
    go b0(k_i: i64 = t1, x_f: f64 = y_f, y_f: f64 = x_f)
  }
  block 1 line 9 {
    go exit 0(word_of(x_f), word_of(y_f))
  }
}
)";
}

// A function that runs rounds for threads, with rounds of the nest side by side.
inline std::string rounds_of_sum() {
  return R"(function rounds_3_1 {
  array a: i64 dims 1 unit 1
  var i_i: i64
  var n_i: i64
  var s_i: i64
  param i_i: i64
  param n_i: i64
  param s_i: i64
  exit 0 words 1
  rounds 1 {
    result 2 = cast:i64(s_i)
  }
  block 1 line 3 {
    test i_i < n_i else done
    t1: i64 = i_i + 1L
    require is_in_range(i_i, a_n0) else exit 0(s_i)
    t2: i64 = load a_data[i_i]
    t3: i64 = overflows limited_add_overflow(s_i, t2) else exit 0(s_i)
    go b1(i_i: i64 = t1, s_i: i64 = t3)
  }
}
)";
}

}  // namespace weft::loopir
