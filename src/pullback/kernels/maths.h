/* Vector mathematics in plain C: branch-free, so that any compiler vectorises it, and the same for every vector width.

   Every function is static inline and named pb_<function>_<type>. Rounding is what is written: a fused multiply-add
   only where FMA stands (compile with -ffp-contract=off). Coefficients are minimax or Chebyshev fits. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PB static inline __attribute__((always_inline, unused))
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define FMAD(a, b, c) __builtin_fma(a, b, c)
#define MAGIC 12582912.f            /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
#define MAGICD 6755399441055744.0   /* 1.5 * 2^52 */

#define PB_WORDS(T, I, U, N, ONE, BIAS, MANTISSA)                                                     \
  typedef union { T f; I i; } pb_word_##N;                                                           \
  PB T pb_from_bits_##N(I i) { pb_word_##N w; w.i = i; return w.f; }                                 \
  PB I pb_bits_##N(T f) { pb_word_##N w; w.f = f; return w.i; }                                      \
  /* the smaller and the larger; b where one is NaN: what one instruction does */                    \
  PB T pb_least_##N(T a, T b) { return a < b ? a : b; }                                              \
  PB T pb_most_##N(T a, T b) { return a > b ? a : b; }
PB_WORDS(float, int32_t, uint32_t, f32, 1.f, 127, 23)
PB_WORDS(double, int64_t, uint64_t, f64, 1., 1023, 52)
#define pb_float pb_from_bits_f32
#define pb_bits pb_bits_f32
#define pb_double pb_from_bits_f64
#define pb_bitsd pb_bits_f64

/* ---- exponentials: e^x = 2^n (1 + p), where p = e^r - 1 for |r| <= ln(2)/2 */

PB float pb_exp_core_f32(float r) {
  float s = r * r;
  float q = FMA(FMA(s, 1.381459837e-03f, FMA(r, 8.368716898e-03f, 4.166838805e-02f)), s,
                FMA(r, 1.666652063e-01f, 4.999999345e-01f));
  return FMA(s, q, r);
}
PB double pb_exp_core_f64(double r) {
  double s = r * r, f = s * s;
  double a = FMAD(FMAD(r, 1. / 120., 1. / 24.), s, FMAD(r, 1. / 6., 0.5));
  double b = FMAD(FMAD(r, 1. / 362880., 1. / 40320.), s, FMAD(r, 1. / 5040., 1. / 720.));
  double c = FMAD(FMAD(r, 1. / 6227020800., 1. / 479001600.), s, FMAD(r, 1. / 39916800., 1. / 3628800.));
  return FMAD(s, FMAD(FMAD(c, f, b), f, a), r);
}
#define FMA_f32 FMA
#define FMA_f64 FMAD
#define PB_LOG2E_f32 0x1.715476p+0f
#define PB_LOG2E_f64 0x1.71547652b82fep+0
#define PB_LN2_f32 0x1.62e43p-1f
#define PB_LN2_f64 0x1.62e42fefa39efp-1
#define PB_LN2_REST_f32 -0x1.05c61p-29f
#define PB_LN2_REST_f64 0x1.abc9e3b39803fp-56

PB float pb_abs_f32(float x) { return fabsf(x); }
PB double pb_abs_f64(double x) { return fabs(x); }
/* Adding MAGIC leaves n in the low bits; with the exponents' BIAS added, too, they are 2^n once they are shifted. Where
   2^n may be neither normal nor finite it goes into two factors, each half of it. What is below ZERO is left out, for to
   let results underflow is slow on some machines; above MOST the result is put right in the end. NaN goes through all of
   it. To limit x on both sides in the beginning would take four comparisons: compilers see through it. */
#define PB_EXPONENTIALS(T, I, U, N, MANTISSA, MAGIC, BIAS, MOST, ZERO, MOST2, ZERO2, LEAST, HIGHEST, TINY, TINIEST, LAST) \
  PB T pb_shifted_##N(U i) { return pb_from_bits_##N((I)(i << MANTISSA)); }                          \
  /* 2^n (one + p), where t is MAGIC + 2 * BIAS + n */                                               \
  PB T pb_scaled_##N(T one, T p, T t) {                                                              \
    U i = (U)pb_bits_##N(t), half = i >> 1;                                                          \
    T h = pb_shifted_##N(half);                                                                      \
    return FMA_##N(h, p, h * one) * pb_shifted_##N(i - half);                                        \
  }                                                                                                  \
  PB T pb_rest_##N(T k, T x) { return FMA_##N(k, -PB_LN2_REST_##N, FMA_##N(k, -PB_LN2_##N, x)); }    \
  PB T pb_ends_##N(T x, T y, T zero, T most) {                                                       \
    y = x > most ? (T)INFINITY : y;                                                                  \
    return x < zero ? (T)0 : y;                                                                      \
  }                                                                                                  \
  PB T pb_exp_##N(T x) {                                                                             \
    const T magic = MAGIC + (T)(2 * BIAS);                                                           \
    T c = x < ZERO ? (T)0 : x, t = FMA_##N(c, PB_LOG2E_##N, magic);                                  \
    T y = pb_scaled_##N((T)1, pb_exp_core_##N(pb_rest_##N(t - magic, c)), t);                        \
    return pb_ends_##N(x, y, ZERO, MOST);                                                            \
  }                                                                                                  \
  /* where neither x nor the result is large or tiny */                                              \
  PB T pb_exp_mid_##N(T x) {                                                                         \
    const T magic = MAGIC + (T)BIAS;                                                                 \
    T t = FMA_##N(x, PB_LOG2E_##N, magic), h = pb_shifted_##N((U)pb_bits_##N(t));                    \
    return FMA_##N(h, pb_exp_core_##N(pb_rest_##N(t - magic, x)), h);                                \
  }                                                                                                  \
  PB T pb_exp2_##N(T x) {                                                                            \
    const T magic = MAGIC + (T)(2 * BIAS);                                                           \
    T c = x < ZERO2 ? (T)0 : x, t = c + magic;                                                       \
    T y = pb_scaled_##N((T)1, pb_exp_core_##N((c - (t - magic)) * PB_LN2_##N), t);                   \
    return pb_ends_##N(x, y, ZERO2, MOST2);                                                          \
  }                                                                                                  \
  /* h is half of 2^n, which is finite where 2^n overflows */                                        \
  PB T pb_expm1_##N(T x) {                                                                           \
    const T magic = MAGIC + (T)(BIAS - 1);                                                           \
    T c = pb_most_##N(LEAST, x), t = FMA_##N(c, PB_LOG2E_##N, magic);                                \
    T p = pb_exp_core_##N(pb_rest_##N(t - magic, c)), h = pb_shifted_##N((U)pb_bits_##N(t));         \
    T y = FMA_##N(h, p, h - (T)0.5);                                                                 \
    y = x > MOST ? (T)INFINITY : y + y;                                                              \
    return pb_abs_##N(x) < TINY ? x : y;                                                             \
  }                                                                                                  \
  /* y / (1 + e^-x), both halved: e^-x / 2 is finite where e^-x is; where that overflows it is y / infinity */ \
  PB T pb_logistic_##N(T x, T y) {                                                                   \
    const T magic = MAGIC + (T)(BIAS - 1);                                                           \
    T a = -x, c = pb_most_##N(TINIEST, a), t = FMA_##N(c, PB_LOG2E_##N, magic);                      \
    T p = pb_exp_core_##N(pb_rest_##N(t - magic, c)), h = pb_shifted_##N((U)pb_bits_##N(t));         \
    T q = (T)0.5 * y / ((T)0.5 + FMA_##N(h, p, h));                                                  \
    return a > LAST ? y * (T)0 : q;                                                                  \
  }                                                                                                  \
  /* from e^a / 4, which is finite where the result is, and e^-a / 4, which counts where that is not large */ \
  PB T pb_hyperbolic_##N(T a, T sign) {                                                              \
    const T magic = MAGIC + (T)(BIAS - 2);                                                           \
    T c = pb_least_##N(HIGHEST, a), t = FMA_##N(c, PB_LOG2E_##N, magic);                             \
    T h = pb_shifted_##N((U)pb_bits_##N(t)), p = pb_exp_core_##N(pb_rest_##N(t - magic, c));         \
    T l = pb_least_##N((T)0x1p60, h), q = (T)0.0625 / FMA_##N(l, p, l), y = h + FMA_##N(h, p, sign * q); \
    return y + y;                                                                                    \
  }                                                                                                  \
  PB T pb_cosh_##N(T x) { return pb_hyperbolic_##N(pb_abs_##N(x), (T)1); }
PB float pb_copysign_f32(float a, float b) { return copysignf(a, b); }
PB double pb_copysign_f64(double a, double b) { return copysign(a, b); }
PB_EXPONENTIALS(float, int32_t, uint32_t, f32, 23, MAGIC, 127, 89.f, -104.f, 128.f, -151.f, -25.f, 89.6f, 0x1p-26f, -87.f,
                0x1.62e42ep+6f)
PB_EXPONENTIALS(double, int64_t, uint64_t, f64, 52, MAGICD, 1023, 710., -746., 1024., -1076., -60., 710.8, 0x1p-55, -708.,
                0x1.62e42fefa39efp+9)
/* (sinh(x) - x) / x^3 for |x| <= 1 by Taylor's series in s = x^2 */
PB float pb_sinh_core_f32(float s) {
  return FMA(FMA(FMA(FMA(s, 0x1.ae6456p-26f, 0x1.71de3ap-19f), s, 0x1.a01a02p-13f), s, 0x1.111112p-7f), s, 0x1.555556p-3f);
}
PB double pb_sinh_core_f64(double s) {
  double q = 1. / 355687428096000.;
  q = FMAD(q, s, 1. / 1307674368000.);
  q = FMAD(q, s, 1. / 6227020800.);
  q = FMAD(q, s, 1. / 39916800.);
  q = FMAD(q, s, 1. / 362880.);
  q = FMAD(q, s, 1. / 5040.);
  q = FMAD(q, s, 1. / 120.);
  return FMAD(q, s, 1. / 6.);
}
#define PB_SINH(T, N)                                                                                \
  PB T pb_sinh_##N(T x) {                                                                            \
    T a = pb_abs_##N(x), s = a * a, small = FMA_##N(a * s, pb_sinh_core_##N(s), a);                  \
    return pb_copysign_##N(a < (T)1 ? small : pb_hyperbolic_##N(a, (T)-1), x);                       \
  }
PB_SINH(float, f32)
PB_SINH(double, f64)

/* ---- logarithms */

/* (log(1 + f) - f + f^2/2) / f^3 for 1 + f in [sqrt(1/2), sqrt(2)] */
PB float pb_log_core(float f, float s) {
  return FMA(s * s,
             FMA(s, FMA(f, -7.859611511e-02f, 1.288164750e-01f), FMA(f, -1.312875480e-01f, 1.418119194e-01f)),
             FMA(s, FMA(f, -1.662455404e-01f, 2.000228627e-01f), FMA(f, -2.500081041e-01f, 3.333331673e-01f)));
}
/* x = 2^k (1 + f), subnormals included */
PB float pb_split_f32(float x, float *f) {
  int tiny = x < 0x1p-126f;
  int32_t i = pb_bits(x * (tiny ? 0x1p23f : 1.f)), e = (int32_t)((uint32_t)i - 0x3f3504f3u) >> 23;
  *f = pb_float((int32_t)((uint32_t)i - ((uint32_t)e << 23))) - 1.f;
  return (float)e - (tiny ? 23.f : 0.f);
}
/* what logarithms are where x is not a positive number */
#define PB_LOG_ENDS(T, N, MINUS)                                                                     \
  PB T pb_log_ends_##N(T x, T y, T zero) {                                                           \
    y = x == zero ? -MINUS : y;                                                                      \
    y = x < zero ? (T)NAN : y;                                                                       \
    return x < MINUS ? y : x;                                                                        \
  }
PB_LOG_ENDS(float, f32, INFINITY)
PB_LOG_ENDS(double, f64, (double)INFINITY)
PB float pb_log_f32(float x) {
  float f, k = pb_split_f32(x, &f), s = f * f;
  float z = FMA(-0.5f, s, FMA(f * s, pb_log_core(f, s), k * -0x1.05c61p-29f));
  return pb_log_ends_f32(x, FMA(k, 0x1.62e43p-1f, f + z), 0.f);
}
/* log(x) * HIGH, whose other bits are REST, for a basis in which k is a whole number or has these parts */
#define PB_LOG_TO(name, HIGH, REST, KHIGH, KREST)                                                    \
  PB float name(float x) {                                                                           \
    float f, k = pb_split_f32(x, &f), s = f * f, z = FMA(-0.5f, s, f * s * pb_log_core(f, s));       \
    float h = f + z, l = (f - h) + z;                                                                \
    float y = FMA(h, HIGH, FMA(h, REST, FMA(l, HIGH, k * KREST)));                                   \
    float sum = FMA(k, KHIGH, y);                                                                    \
    return pb_log_ends_f32(x, sum, 0.f);                                                             \
  }
PB_LOG_TO(pb_log2_f32, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.f, 0.f)
PB_LOG_TO(pb_log10_f32, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344136p-2f, -0x1.ec10cp-27f)
/* c is what 1 + x lost; it is scaled as 1 + x is, which lost nothing where that is huge */
PB float pb_log1p_f32(float x) {
  float u = 1.f + x, c = x - (u - 1.f);
  int32_t i = pb_bits(u), w = (int32_t)(((uint32_t)i - 0x3f3504f3u) & 0xff800000u);
  float k = (float)(w >> 23), m = pb_float((int32_t)((uint32_t)i - (uint32_t)w)) - 1.f;
  float d = pb_float(0x3f800000 - (w < 0x3f800000 ? w : 0x3f800000));
  float f = FMA(c, d, m), l = FMA(c, d, m - f), s = f * f;
  float z = FMA(-0.5f, s, FMA(f * s, pb_log_core(f, s), FMA(k, -0x1.05c61p-29f, l)));
  float y = pb_log_ends_f32(x, FMA(k, 0x1.62e43p-1f, f + z), -1.f);
  return x == 0.f ? x : y;
}

/* ---- the rest of float32 */

PB float pb_tanh_f32(float x) {
  float a = fabsf(x), s = a * a, q = s * s;
  float p = FMA(FMA(q, -5.830318880e-03f, FMA(s, 2.074495715e-02f, -5.377024304e-02f)), q,
                FMA(s, 1.333178495e-01f, -3.333329372e-01f));
  float small = FMA(a * s, p, a), c = pb_least_f32(10.f, a);
  float big = 1.f - 2.f / (pb_exp_mid_f32(c + c) + 1.f);
  return copysignf(a < 0.61f ? small : big, x);
}
PB float pb_erf_f32(float x) {
  float t = fabsf(x), s = t * t, q = s * s;
  float p = FMA(q * q, FMA(q, 8.538841521e-05f, FMA(s, -8.181927857e-04f, 5.204436078e-03f)),
                FMA(q, FMA(s, -2.686075283e-02f, 1.128371972e-01f), FMA(s, -3.761263531e-01f, 1.283791668e-01f)));
  float small = FMA(t, p, t), c = pb_least_f32(4.f, t), d = c * c;
  float w = FMA(d * d, FMA(d, 9.584715420e-06f, FMA(c, -3.064898075e-04f, 3.576852224e-03f)),
                FMA(d, FMA(c, -2.362493782e-02f, 1.060796873e-01f), FMA(c, 6.352450861e-01f, 1.286257290e-01f)));
  return copysignf(t < 0.9f ? small : 1.f - pb_exp_mid_f32(-FMA(w, c, c)), x);
}

/* sine (shift 0) and cosine (shift 1) by quarter turns, the rest of the argument in two parts; right below 2^17 */
PB float pb_turn_f32(float x, int32_t shift) {
  float t = FMA(x, 0x1.45f306p-1f, MAGIC), k = t - MAGIC;
  int32_t n = (int32_t)((uint32_t)pb_bits(t) + (uint32_t)shift);
  float a = FMA(k, -0x1.921fb6p+0f, x), p = k * 0x1.777a5cp-25f, h = a + p, b = h - a;
  float l = (a - (h - b)) + (p - b) + FMA(k, 0x1.ee59dap-50f, FMA(k, 0x1.777a5cp-25f, -p));
  float z = h * h;
  float s = h + FMA(h * z, FMA(z, FMA(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), l);
  float c = FMA(z * z, FMA(z, FMA(z, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f), -(h * l));
  float w = FMA(z, -0.5f, 1.f);
  c = w + (FMA(z, -0.5f, 1.f - w) + c);
  float y = n & 1 ? c : s;
  return n & 2 ? -y : y;
}
PB float pb_sin_f32(float x) { return x == 0.f ? x : pb_turn_f32(x, 0); }
PB float pb_cos_f32(float x) { return pb_turn_f32(x, 1); }

/* ---- float64 */

/* log(1 + f) + k*ln(2), 1 + f in [sqrt(1/2), sqrt(2)], with a correction l to f */
PB double pb_log_cored(double k, double f, double l) {
  double s = f / (2. + f), z = s * s, h = 0.5 * f * f;
  double p = 0.1479819860511658591;
  p = FMAD(p, z, 0.1531383769920937332);
  p = FMAD(p, z, 0.1818357216161805012);
  p = FMAD(p, z, 0.2222219843214978396);
  p = FMAD(p, z, 0.2857142874366239149);
  p = FMAD(p, z, 0.3999999999940941908);
  p = FMAD(p, z, 0.6666666666666735130);
  p *= z;
  return k * 0x1.62e42fee00000p-1 - ((h - (s * (h + p) + (k * 0x1.a39ef35793c76p-33 + l))) - f);
}
PB double pb_split_f64(double x, double *f) {
  uint64_t i = (uint64_t)pb_bitsd(x), j = i + 0x00195f6200000000u;  /* 1024 + k in the exponent */
  *f = pb_double((int64_t)(i - (j & 0xfff0000000000000u) + 0x4000000000000000u)) - 1.;
  return pb_double((int64_t)(j >> 52 | 0x4330000000000000u)) - (0x1p52 + 1024.);
}
PB double pb_log_f64(double x) {
  int tiny = x < 0x1p-1022;
  double f, k = pb_split_f64(x * (tiny ? 0x1p54 : 1.), &f) - (tiny ? 54. : 0.);
  return pb_log_ends_f64(x, pb_log_cored(k, f, 0.), 0.);
}
PB double pb_log1p_f64(double x) {
  double u = 1. + x, c = x - (u - 1.), f, k = pb_split_f64(u, &f);
  double y = pb_log_ends_f64(x, pb_log_cored(k, f, u > 0x1p53 ? 0. : c / u), -1.);
  return x == 0. ? x : y;
}
PB double pb_log2_f64(double x) { return pb_log_f64(x) * 0x1.71547652b82fep+0; }
PB double pb_log10_f64(double x) { return pb_log_f64(x) * 0x1.bcb7b1526e50ep-2; }
PB double pb_tanh_f64(double x) {
  double m = pb_expm1_f64(2. * pb_least_f64(22., fabs(x)));
  return copysign(m / (m + 2.), x);
}
/* sine (shift 0) and cosine (shift 1) by quarter turns; right below 2^30 */
#define PB_TURN(name, S, C)                                                                          \
  PB double name(double x, int64_t shift) {                                                          \
    double t = FMAD(x, 0x1.45f306dc9c883p-1, MAGICD), k = t - MAGICD;                                \
    int64_t n = pb_bitsd(t) + shift;                                                                 \
    double r = FMAD(k, -0x1.1a62633145c07p-54, FMAD(k, -0x1.921fb54442d18p+0, x)), z = r * r;        \
    double s = FMAD(r * z, S, r), c = FMAD(z * z, C, FMAD(z, -0.5, 1.));                             \
    double y = n & 1 ? c : s;                                                                        \
    return n & 2 ? -y : y;                                                                           \
  }
#define PB_SIN4 FMAD(z, FMAD(z, FMAD(z, 2.75573137070700676789e-06, -1.98412698298579493134e-04),    \
                            8.33333333332248946124e-03), -1.66666666666666324348e-01)
#define PB_SIN6 FMAD(z, FMAD(z, FMAD(z, FMAD(z, FMAD(z, 1.58969099521155010221e-10,                  \
  -2.50507602534068634195e-08), 2.75573137070700676789e-06), -1.98412698298579493134e-04),           \
  8.33333333332248946124e-03), -1.66666666666666324348e-01)
#define PB_COS4 FMAD(z, FMAD(z, FMAD(z, -2.75573143513906633035e-07, 2.48015872894767294178e-05),    \
                            -1.38888888888741095749e-03), 4.16666666666666019037e-02)
#define PB_COS6 FMAD(z, FMAD(z, FMAD(z, FMAD(z, FMAD(z, -1.13596475577881948265e-11,                 \
  2.08757232129817482790e-09), -2.75573143513906633035e-07), 2.48015872894767294178e-05),            \
  -1.38888888888741095749e-03), 4.16666666666666019037e-02)
PB_TURN(pb_turn, PB_SIN6, PB_COS6)
PB_TURN(pb_turn_short, PB_SIN4, PB_COS4)
PB double pb_sin_f64(double x) { return x == 0. ? x : pb_turn(x, 0); }
PB double pb_cos_f64(double x) { return pb_turn(x, 1); }
PB double pb_tan_f64(double x) { return x == 0. ? x : pb_turn(x, 0) / pb_turn(x, 1); }

/* atan(num/den) for a ratio in [-tan(pi/8), tan(pi/8)], plus what was taken off */
PB double pb_atan_core(double a, double *base) {
  int big = a > 2.414213562373095, mid = a > 0.41421356237309503;
  double num = big ? -1. : mid ? a - 1. : a, den = big ? a : mid ? a + 1. : 1.;
  *base = big ? 1.5707963267948966 : mid ? 0.7853981633974483 : 0.;
  return num / den;
}
PB double pb_atan_f64(double x) {
  double base, w = pb_atan_core(fabs(x), &base), s = w * w, p = 0.016284375050043394596;
  p = FMAD(p, s, -0.03456931506332608995);
  p = FMAD(p, s, 0.045515447340221616575);
  p = FMAD(p, s, -0.052304436406869477082);
  p = FMAD(p, s, 0.058789275544738067651);
  p = FMAD(p, s, -0.066664247602005201418);
  p = FMAD(p, s, 0.076922963680422971183);
  p = FMAD(p, s, -0.090909087532591129423);
  p = FMAD(p, s, 0.11111111105150587894);
  p = FMAD(p, s, -0.14285714285659777756);
  p = FMAD(p, s, 0.19999999999999804328);
  p = FMAD(p, s, -0.33333333333333333217);
  return copysign(base + FMAD(w * s, p, w), x);
}
PB double pb_atan_short(double x) {
  double base, w = pb_atan_core(fabs(x), &base), s = w * w, p = 0.050479374320400910472;
  p = FMAD(p, s, -0.0862459821519612668);
  p = FMAD(p, s, 0.11071354571201351457);
  p = FMAD(p, s, -0.14284150629730288201);
  p = FMAD(p, s, 0.19999977248233530355);
  p = FMAD(p, s, -0.33333333279224539505);
  return copysign(base + FMAD(w * s, p, w), x);
}
PB double pb_asin_f64(double x) { return x == 0. ? x : pb_atan_f64(x / sqrt((1. - x) * (1. + x))); }
PB double pb_acos_f64(double x) { return 2. * pb_atan_f64(sqrt((1. - x) / (1. + x))); }
PB double pb_atan2_f64(double y, double x) {
  double a = fabs(y), b = fabs(x), q = a == b ? (a == 0. ? 0. : 1.) : a / b;  /* inf/inf, 0/0 */
  double r = pb_atan_f64(q);
  r = pb_bitsd(x) < 0 ? 3.141592653589793 - r : r;
  r = copysign(r, y);
  return x != x || y != y ? x + y : r;
}
PB double pb_asinh_f64(double x) {
  double a = fabs(x), s = a * a, y = pb_log1p_f64(a + s / (1. + sqrt(1. + s)));
  y = a > 1e150 ? pb_log_f64(a) + 0.6931471805599453 : y;
  return x == 0. || x != x ? x : copysign(y, x);
}
PB double pb_acosh_f64(double x) {
  double t = x - 1., y = pb_log1p_f64(t + sqrt(t * (x + 1.)));
  y = x > 1e150 ? pb_log_f64(x) + 0.6931471805599453 : y;
  return x < 1. ? NAN : y;
}
PB double pb_atanh_f64(double x) {
  double a = fabs(x), y = 0.5 * pb_log1p_f64(2. * a / (1. - a));
  return x == 0. || x != x ? x : copysign(y, x);
}
/* for float32: e^x to ten digits */
PB double pb_exp_short(double x) {
  const double magic = MAGICD + 1023.;
  double c = pb_least_f64(700., pb_most_f64(-700., x)), t = FMAD(c, PB_LOG2E_f64, magic);
  double r = FMAD(t - magic, -PB_LN2_f64, c), s = r * r, h = pb_shifted_f64((uint64_t)pb_bitsd(t));
  double p = FMAD(FMAD(FMAD(s, 1. / 40320., FMAD(r, 1. / 5040., 1. / 720.)), s, FMAD(r, 1. / 120., 1. / 24.)), s,
                  FMAD(r, 1. / 6., 0.5));
  return FMAD(h, FMAD(s, p, r), h);
}
/* for float32: erfc(x) = t exp(-x^2 + q(t)), t = 2/(2 + |x|) */
PB double pb_erfc_short(double x) {
  double a = fabs(x), c = a > 12. ? 12. : a, t = 2. / (2. + c), q = -0.18900528181096702039;
  q = FMAD(q, t, 1.5108659635057438223);
  q = FMAD(q, t, -5.3036726604577244656);
  q = FMAD(q, t, 10.627550016385433635);
  q = FMAD(q, t, -13.215910782301701177);
  q = FMAD(q, t, 10.450900638204384553);
  q = FMAD(q, t, -5.3957197328144692876);
  q = FMAD(q, t, 2.0937243352730669382);
  q = FMAD(q, t, -0.62242872784693443942);
  q = FMAD(q, t, -0.055639721829023918099);
  q = FMAD(q, t, -0.093385538132303476942);
  q = FMAD(q, t, 0.083120637824876669481);
  q = FMAD(q, t, 0.37512474216446256679);
  q = FMAD(q, t, 0.99998781158691076614);
  q = FMAD(q, t, -1.2655116997770197919);
  double y = t * pb_exp_short(q - c * c);
  y = x < 0. ? 2. - y : y;
  return x != x ? x : y;
}
/* for 0 <= a: exp(-a^2) f(t) / (a + 4), t = 1 - 8 / (a + 4). What rounding takes from a + 4, from its reciprocal, from
   t, f, the product, a^2 and the exponent's rest is put back: one in a thousand of it is enough. */
PB double pb_erfc_far(double x) {
  double a = pb_least_f64(28., x), u = a + 4., v = u - a, r = 1. / u, t = FMAD(r, -8., 1.), w = t * t;
  double off = FMAD(-u, r, 1.) - ((a - (u - v)) + (4. - v)) * r;
  double slope = FMAD(t, FMAD(t, -0.265, 0.632), -0.894);
  off = FMAD(slope, FMAD(r, -8., 1. - t), off * FMAD(t - 1., slope, 1.));
  double h = 1.7261619975950997e-09;
  h = FMAD(h, t, 5.269773250798135e-10);
  h = FMAD(h, t, -1.7391950168504673e-08);
  h = FMAD(h, t, -1.6098595397427118e-10);
  h = FMAD(h, t, 1.2634530171702609e-07);
  h = FMAD(h, t, -7.434014017498341e-08);
  h = FMAD(h, t, -8.476228993594096e-07);
  h = FMAD(h, t, 1.4234026481647935e-06);
  h = FMAD(h, t, 4.6949977975757904e-06);
  h = FMAD(h, t, -1.8860556594787633e-05);
  h = FMAD(h, t, -3.6353266338444797e-06);
  h = FMAD(h, t, 0.00017681273016769065);
  double l = -0.0004550526578175091;
  l = FMAD(l, t, -0.000280958850553411);
  l = FMAD(l, t, 0.006112055653122169);
  l = FMAD(l, t, -0.026370053341857068);
  l = FMAD(l, t, 0.0763815149094336);
  l = FMAD(l, t, -0.1740109372398466);
  l = FMAD(l, t, 0.33085158787801017);
  l = FMAD(l, t, -0.5408538313132375);
  l = FMAD(w * w, w * w * t * h, FMAD(l, t, 0.7732087022652371));
  double m = FMAD(l, t, -0.976548729080882), g = FMAD(m, t, 5.763837412032923e-17), f = 1.095995661000491 + g, q = f * r;
  double rest = FMAD(FMAD(l, t, -0.976548729080882 - m), t, FMAD(m, t, 5.763837412032923e-17 - g)) + ((1.095995661000491 - f) + g);
  double ql = FMAD(rest, r, FMAD(f, r, -q));
  const double magic = MAGICD + 2046.;
  double s = a * a, n = FMAD(s, -PB_LOG2E_f64, magic), k = n - magic;
  double most = FMAD(k, -0x1.62e42feep-1, -s), least = FMAD(k, -0x1.a39ef35793c76p-33, FMAD(-a, a, s));
  double d = most + least, p = pb_exp_core_f64(d);
  off += (most - d) + least;
  return s > 746. ? 0. : pb_scaled_f64(q, FMAD(q, p, FMAD(off, FMAD(q, p, q), ql)), n);
}
PB double pb_erf_near(double x) {
  double s = x * x, p = -1.353329442039291382e-7;
  p = FMAD(p, s, 1.6216338946323896484e-6);
  p = FMAD(p, s, -0.000014913641488893164939);
  p = FMAD(p, s, 0.00012054975958624598418);
  p = FMAD(p, s, -0.00085483204316391184021);
  p = FMAD(p, s, 0.0052239775512058703987);
  p = FMAD(p, s, -0.026866170640323481384);
  p = FMAD(p, s, 0.11283791670939301285);
  p = FMAD(p, s, -0.37612638903183550321);
  p = FMAD(p, s, 0.12837916709551256963);
  return FMAD(x, p, x);
}
PB double pb_erf_f64(double x) {
  double a = fabs(x);
  return copysign(a < 0.65 ? pb_erf_near(a) : 1. - pb_erfc_far(a), x);
}
PB double pb_erfc_f64(double x) {
  double a = fabs(x), y = pb_erfc_far(a);
  y = x < 0. ? 2. - y : y;
  return a < 0.47 ? 1. - pb_erf_near(x) : y;
}

/* x^y: x < 0 is defined for whole y only */
PB double pb_powf_f64(double x, double y) { return pow(x, y); }
/* for float32, where what is beyond e^700 is infinite or zero: so are powers of 0 and infinity, but for the sign */
PB double pb_pow_short(double x, double y) {
  double a = fabs(x), r = pb_exp_short(y * pb_log_f64(a)), whole = rint(y), half = y * 0.5;
  int64_t odd = (whole == y) & (rint(half) != half);
  r = (a == 1.) | (y == 0.) ? 1. : r;
  r = pb_double(pb_bitsd(r) | (pb_bitsd(x) & (int64_t)((uint64_t)odd << 63)));
  return (x < 0.) & (a < INFINITY) & (whole != y) ? NAN : r;
}

/* ---- float32 by way of float64: half an ulp without effort */

#define PB_WIDE(f) PB float pb_##f##_f32(float x) { return (float)pb_##f##_f64((double)x); }
PB float pb_tan_f32(float x) {
  return x == 0.f ? x : (float)(pb_turn_short((double)x, 0) / pb_turn_short((double)x, 1));
}
PB float pb_atan_f32(float x) { return (float)pb_atan_short((double)x); }
PB float pb_asin_f32(float x) {
  double d = (double)x;
  return x == 0.f ? x : (float)pb_atan_short(d / sqrt((1. - d) * (1. + d)));
}
PB float pb_acos_f32(float x) { return (float)(2. * pb_atan_short(sqrt((1. - (double)x) / (1. + (double)x)))); }
PB float pb_atan2_f32(float y, float x) { return (float)pb_atan2_f64((double)y, (double)x); }
PB float pb_erfc_f32(float x) { return (float)pb_erfc_short((double)x); }
PB float pb_powf_f32(float x, float y) { return (float)pb_pow_short((double)x, (double)y); }
PB_WIDE(asinh)
PB_WIDE(acosh)
PB_WIDE(atanh)

/* ---- what is the same for both types */

#define PB_BOTH(T, N)                                                                                \
  /* a comparison with a NaN is false, so m is b there; a condition on one argument alone, which may be the     \
     same for a whole loop, would keep the compiler from vectors */                                            \
  PB T pb_max_##N(T a, T b) { T m = a > b ? a : b; return a != a ? a : m; }                          \
  PB T pb_min_##N(T a, T b) { T m = a < b ? a : b; return a != a ? a : m; }                          \
  PB T pb_fmax_##N(T a, T b) { T m = a > b ? a : b; return m != m ? a : m; }                         \
  PB T pb_fmin_##N(T a, T b) { T m = a < b ? a : b; return m != m ? a : m; }                         \
  PB T pb_sign_##N(T x) { return (T)(x > (T)0) - (T)(x < (T)0); }
PB_BOTH(float, f32)
PB_BOTH(double, f64)
#define PB_PLAIN(f, one, two)                                                                        \
  PB float pb_##f##_f32(float x) { return one(x); }                                                  \
  PB double pb_##f##_f64(double x) { return two(x); }
PB_PLAIN(sqrt, sqrtf, sqrt)
PB_PLAIN(floor, floorf, floor)
PB_PLAIN(ceil, ceilf, ceil)
PB_PLAIN(trunc, truncf, trunc)
PB_PLAIN(rint, rintf, rint)
PB int64_t pb_abs_i64(int64_t x) { return x < 0 ? -x : x; }
PB int64_t pb_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
PB int64_t pb_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
PB int64_t pb_sign_i64(int64_t x) { return (x > 0) - (x < 0); }

/* results of the fast way at arguments beyond its range: float32 by float64, and what is beyond that, too, one by
   one: they are rare */
#define PB_MEND(f, T, N, SCALAR)                                                                     \
  static __attribute__((noinline, unused)) void pb_mend_##f##_##N(const T *x, T *y, int64_t m) {     \
    PB_SHORT_##N(f)                                                                                  \
    for (int64_t j = 0; j < m; j++)                                                                  \
      if (!(x[j] < (T)0x1p30 && x[j] > (T)-0x1p30)) y[j] = (T)SCALAR((double)x[j]);                  \
  }
#define PB_SHORT_f64(f)
#define PB_SHORT_f32(f) for (int64_t j = 0; j < m; j++) y[j] = fabsf(x[j]) < 0x1p17f ? y[j] : pb_short_##f(x[j]);
PB float pb_short_sin(float x) { return (float)pb_turn_short((double)x, 0); }
PB float pb_short_cos(float x) { return (float)pb_turn_short((double)x, 1); }
PB float pb_short_tan(float x) { return pb_tan_f32(x); }
PB_MEND(sin, float, f32, sin)
PB_MEND(cos, float, f32, cos)
PB_MEND(tan, float, f32, tan)
PB_MEND(sin, double, f64, sin)
PB_MEND(cos, double, f64, cos)
PB_MEND(tan, double, f64, tan)
#define PB_BEYOND(T, N, MOST)                                                                        \
  PB int pb_beyond_##N(const T *x, int64_t m) {                                                      \
    int bad = 0;                                                                                     \
    for (int64_t j = 0; j < m; j++) bad |= !(x[j] < (T)MOST) | !(x[j] > (T)-MOST);                   \
    return bad;                                                                                      \
  }
PB_BEYOND(float, f32, 0x1p17)
PB_BEYOND(double, f64, 0x1p30)
