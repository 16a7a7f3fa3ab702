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

typedef union { float f; int32_t i; uint32_t u; } pb_word;
typedef union { double f; int64_t i; uint64_t u; } pb_long;
PB float pb_float(int32_t i) { pb_word w; w.i = i; return w.f; }
PB int32_t pb_bits(float f) { pb_word w; w.f = f; return w.i; }
PB double pb_double(int64_t i) { pb_long w; w.i = i; return w.f; }
PB int64_t pb_bitsd(double f) { pb_long w; w.f = f; return w.i; }
PB float pb_power2(int32_t n) { return pb_float((int32_t)((uint32_t)(n + 127) << 23)); }
PB double pb_power2d(int64_t n) { return pb_double((int64_t)((uint64_t)(n + 1023) << 52)); }

/* ---- float32 */

/* e^r - 1 for |r| <= ln(2)/2 */
PB float pb_exp_core(float r) {
  float s = r * r;
  float q = FMA(FMA(s, 1.381459837e-03f, FMA(r, 8.368716898e-03f, 4.166838805e-02f)), s,
                FMA(r, 1.666652063e-01f, 4.999999345e-01f));
  return FMA(s, q, r);
}
PB float pb_exp_f32(float x) {
  float c = x > 90.f ? 90.f : x;
  c = c < -104.f ? 0.f : c;  /* zero is chosen below: underflow is slow on some machines */
  float t = FMA(c, 0x1.715476p+0f, MAGIC), k = t - MAGIC;
  int32_t n = (int32_t)((uint32_t)pb_bits(t) - 0x4B400000u);
  float r = FMA(k, 0x1.05c61p-29f, FMA(k, -0x1.62e43p-1f, c));
  int32_t a = n >> 1, b = n - a;
  float y = (pb_exp_core(r) + 1.f) * pb_power2(a) * pb_power2(b);
  y = x < -104.f ? 0.f : y;
  return x != x ? x : y;
}
PB float pb_exp2_f32(float x) {
  float c = x > 129.f ? 129.f : x;
  c = c < -151.f ? 0.f : c;
  float t = c + MAGIC, k = t - MAGIC;
  int32_t n = (int32_t)((uint32_t)pb_bits(t) - 0x4B400000u), a = n >> 1, b = n - a;
  float y = (pb_exp_core((c - k) * 0x1.62e43p-1f) + 1.f) * pb_power2(a) * pb_power2(b);
  y = x < -151.f ? 0.f : y;
  return x != x ? x : y;
}
PB float pb_expm1_f32(float x) {
  float c = x > 90.f ? 90.f : x;
  c = c < -25.f ? -25.f : c;
  float t = FMA(c, 0x1.715476p+0f, MAGIC), k = t - MAGIC;
  int32_t n = (int32_t)((uint32_t)pb_bits(t) - 0x4B400000u);
  float r = FMA(k, 0x1.05c61p-29f, FMA(k, -0x1.62e43p-1f, c));
  float p = pb_exp_core(r);
  int32_t a = n >> 1, b = n - a;
  float u = pb_power2(a), v = pb_power2(b), s = u * v;
  float y = FMA(s, p, s - 1.f);
  y = n > 126 ? (p + 1.f) * u * v : y;
  y = x == 0.f ? x : y;
  return x != x ? x : y;
}
/* (log(1 + f) - f + f^2/2) / f^3 for 1 + f in [sqrt(1/2), sqrt(2)] */
PB float pb_log_core(float f, float s) {
  return FMA(s * s,
             FMA(s, FMA(f, -7.859611511e-02f, 1.288164750e-01f), FMA(f, -1.312875480e-01f, 1.418119194e-01f)),
             FMA(s, FMA(f, -1.662455404e-01f, 2.000228627e-01f), FMA(f, -2.500081041e-01f, 3.333331673e-01f)));
}
/* k*ln(2) + f + z, in two parts */
PB float pb_log_sum(float k, float f, float z) {
  float h = FMA(k, 0x1.62e43p-1f, f), l = FMA(k, 0x1.62e43p-1f, -h) + f;
  return h + (l + z);
}
PB float pb_log_f32(float x) {
  int tiny = x < 0x1p-126f;
  float y = x * (tiny ? 0x1p23f : 1.f);
  int32_t i = pb_bits(y), e = (int32_t)((uint32_t)i - 0x3f3504f3u) >> 23;
  float k = (float)(e + (tiny ? -23 : 0)), f = pb_float((int32_t)((uint32_t)i - ((uint32_t)e << 23))) - 1.f, s = f * f;
  float z = FMA(-0.5f, s, FMA(f * s, pb_log_core(f, s), k * -0x1.05c61p-29f));
  y = pb_log_sum(k, f, z);
  y = x == 0.f ? -INFINITY : y;
  y = x < 0.f ? NAN : y;
  y = x == INFINITY ? x : y;
  return x != x ? x : y;
}
PB float pb_log1p_f32(float x) {
  float u = 1.f + x, b = u - 1.f, c = (1.f - (u - b)) + (x - b);
  int32_t i = pb_bits(u), e = (int32_t)((uint32_t)i - 0x3f3504f3u) >> 23, d = -e < -126 ? -126 : -e;
  float k = (float)e, m = pb_float((int32_t)((uint32_t)i - ((uint32_t)e << 23))) - 1.f;
  float cm = c * pb_power2(d), f = m + cm, l = (m - f) + cm, s = f * f;
  float z = FMA(-0.5f, s, FMA(f * s, pb_log_core(f, s), k * -0x1.05c61p-29f) + l);
  float y = pb_log_sum(k, f, z);
  y = x == -1.f ? -INFINITY : y;
  y = x < -1.f ? NAN : y;
  y = x == INFINITY ? x : y;
  y = x == 0.f ? x : y;
  return x != x ? x : y;
}
PB float pb_tanh_f32(float x) {
  float a = fabsf(x), s = x * x, q = s * s;
  float p = FMA(FMA(q, -5.830318880e-03f, FMA(s, 2.074495715e-02f, -5.377024304e-02f)), q,
                FMA(s, 1.333178495e-01f, -3.333329372e-01f));
  float small = FMA(x * s, p, x), c = a > 10.f ? 10.f : a;
  float big = copysignf(1.f - 2.f / (pb_exp_f32(2.f * c) + 1.f), x);
  float y = a < 0.61f ? small : big;
  y = x == 0.f ? x : y;
  return x != x ? x : y;
}
PB float pb_erf_f32(float x) {
  float t = fabsf(x), s = x * x, q = s * s;
  float p = FMA(q * q, FMA(q, 8.538841521e-05f, FMA(s, -8.181927857e-04f, 5.204436078e-03f)),
                FMA(q, FMA(s, -2.686075283e-02f, 1.128371972e-01f), FMA(s, -3.761263531e-01f, 1.283791668e-01f)));
  float small = FMA(x, p, x), c = t > 4.f ? 4.f : t, d = c * c;
  float w = FMA(d * d, FMA(d, 9.584715420e-06f, FMA(c, -3.064898075e-04f, 3.576852224e-03f)),
                FMA(d, FMA(c, -2.362493782e-02f, 1.060796873e-01f), FMA(c, 6.352450861e-01f, 1.286257290e-01f)));
  float y = t < 0.9f ? small : copysignf(1.f - pb_exp_f32(-FMA(w, c, c)), x);
  y = x == 0.f ? x : y;
  return x != x ? x : y;
}

/* ---- float64 */

PB double pb_exp_cored(double r) {
  double q = 1.6059043836821613e-10;
  q = FMAD(q, r, 2.08767569878681e-09);
  q = FMAD(q, r, 2.505210838544172e-08);
  q = FMAD(q, r, 2.755731922398589e-07);
  q = FMAD(q, r, 2.7557319223985893e-06);
  q = FMAD(q, r, 2.48015873015873e-05);
  q = FMAD(q, r, 0.0001984126984126984);
  q = FMAD(q, r, 0.001388888888888889);
  q = FMAD(q, r, 0.008333333333333333);
  q = FMAD(q, r, 0.041666666666666664);
  q = FMAD(q, r, 0.16666666666666666);
  q = FMAD(q, r, 0.5);
  return FMAD(r * r, q, r);
}
PB double pb_exp_f64(double x) {
  double c = x > 710. ? 710. : x;
  c = c < -746. ? 0. : c;
  double t = FMAD(c, 0x1.71547652b82fep+0, MAGICD), k = t - MAGICD;
  int64_t n = pb_bitsd(t) - 0x4338000000000000LL;
  double r = FMAD(k, -0x1.abc9e3b39803fp-56, FMAD(k, -0x1.62e42fefa39efp-1, c));
  int32_t m = (int32_t)n, a = m >> 1, b = m - a;
  double y = (pb_exp_cored(r) + 1.) * pb_power2d(a) * pb_power2d(b);
  y = x < -746. ? 0. : y;
  return x != x ? x : y;
}
PB double pb_exp2_f64(double x) {
  double c = x > 1025. ? 1025. : x;
  c = c < -1076. ? 0. : c;
  double t = c + MAGICD, k = t - MAGICD;
  int32_t n = (int32_t)(pb_bitsd(t) - 0x4338000000000000LL), a = n >> 1, b = n - a;
  double y = (pb_exp_cored((c - k) * 0x1.62e42fefa39efp-1) + 1.) * pb_power2d(a) * pb_power2d(b);
  y = x < -1076. ? 0. : y;
  return x != x ? x : y;
}
PB double pb_expm1_f64(double x) {
  double c = x > 710. ? 710. : x;
  c = c < -60. ? -60. : c;
  double t = FMAD(c, 0x1.71547652b82fep+0, MAGICD), k = t - MAGICD;
  int64_t n = pb_bitsd(t) - 0x4338000000000000LL;
  double r = FMAD(k, -0x1.abc9e3b39803fp-56, FMAD(k, -0x1.62e42fefa39efp-1, c)), p = pb_exp_cored(r);
  int32_t m = (int32_t)n, a = m >> 1, b = m - a;
  double u = pb_power2d(a), v = pb_power2d(b), s = u * v;
  double y = FMAD(s, p, s - 1.);
  y = m > 1022 ? (p + 1.) * u * v : y;
  y = x == 0. ? x : y;
  return x != x ? x : y;
}
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
PB double pb_split_log(double x, double *f) {
  int64_t i = pb_bitsd(x);
  int32_t e = (int32_t)((uint64_t)i >> 32), k;
  k = (e - 0x3fe6a09e) >> 20;
  *f = pb_double((int64_t)((uint64_t)i - ((uint64_t)(int64_t)k << 52))) - 1.;
  return (double)k;
}
PB double pb_log_f64(double x) {
  int tiny = x < 0x1p-1022;
  double f, k = pb_split_log(x * (tiny ? 0x1p54 : 1.), &f) - (tiny ? 54. : 0.);
  double y = pb_log_cored(k, f, 0.);
  y = x == 0. ? -INFINITY : y;
  y = x < 0. ? NAN : y;
  y = x == INFINITY ? x : y;
  return x != x ? x : y;
}
PB double pb_log1p_f64(double x) {
  double u = 1. + x, b = u - 1., c = (1. - (u - b)) + (x - b), f, k = pb_split_log(u, &f);
  double y = pb_log_cored(k, f, u > 0x1p53 ? 0. : c / u);
  y = x == -1. ? -INFINITY : y;
  y = x < -1. ? NAN : y;
  y = x == INFINITY ? x : y;
  y = x == 0. ? x : y;
  return x != x ? x : y;
}
PB double pb_tanh_f64(double x) {
  double a = fabs(x), m = pb_expm1_f64(2. * (a > 22. ? 22. : a)), y = copysign(m / (m + 2.), x);
  y = x == 0. ? x : y;
  return x != x ? x : y;
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
PB double pb_sinh_f64(double x) {
  double m = pb_expm1_f64(fabs(x) > 709. ? 709. : fabs(x)), over = pb_exp_f64(fabs(x) - 0.6931471805599453);
  double y = copysign(fabs(x) > 700. ? over : 0.5 * (m + m / (m + 1.)), x);
  return x == 0. || x != x ? x : y;
}
PB double pb_cosh_f64(double x) {
  double a = fabs(x), e = pb_exp_f64(a > 700. ? 700. : a), over = pb_exp_f64(a - 0.6931471805599453);
  return a > 700. ? over : 0.5 * (e + 1. / e);
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
  double y = t * pb_exp_f64(q - c * c);
  y = x < 0. ? 2. - y : y;
  return x != x ? x : y;
}
/* for 0 <= a: exp(-a^2) f(t) / (a + 4), t = (a - 4) / (a + 4); c is what rounding took from a^2 and the ratio */
PB double pb_erfc_far(double a) {
  a = a > 28. ? 28. : a;
  double u = a + 4., r = 1. / u, t = (a - 4.) * r, s = a * a, q = 1.2073816594065525682e-9;
  q = FMAD(q, t, 2.6544545083480169217e-10);
  q = FMAD(q, t, -1.5275288899906478597e-8);
  q = FMAD(q, t, 8.2382408561476012403e-10);
  q = FMAD(q, t, 1.2252882070645251702e-7);
  q = FMAD(q, t, -7.5968993286695022327e-8);
  q = FMAD(q, t, -8.4365161205617937188e-7);
  q = FMAD(q, t, 1.4249464173304701126e-6);
  q = FMAD(q, t, 4.6923839137546395262e-6);
  q = FMAD(q, t, -1.8861473378981354123e-05);
  q = FMAD(q, t, -3.6342038149469714876e-6);
  q = FMAD(q, t, 0.00017681308065604067929);
  q = FMAD(q, t, -0.00045505297165692804501);
  q = FMAD(q, t, -0.00028095893593912011285);
  q = FMAD(q, t, 0.0061120557083863917237);
  q = FMAD(q, t, -0.026370053329181022068);
  q = FMAD(q, t, 0.076381514903710806816);
  q = FMAD(q, t, -0.17401093724089230449);
  q = FMAD(q, t, 0.33085158787831584497);
  q = FMAD(q, t, -0.54085383131319760759);
  q = FMAD(q, t, 0.77320870226523068976);
  q = FMAD(q, t, -0.97654872908088242425);
  q = FMAD(q, t, 1.0959956610004911414);
  q *= r;
  double c = FMAD(-(4. - (u - a)), r, FMAD(-u, r, 1.)) - FMAD(a, a, -s), y = pb_exp_f64(-s) * q;
  return FMAD(y, c, y);
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
  double a = fabs(x), y = a < 0.65 ? pb_erf_near(x) : copysign(1. - pb_erfc_far(a), x);
  y = x == 0. ? x : y;
  return x != x ? x : y;
}
PB double pb_erfc_f64(double x) {
  double a = fabs(x), y = pb_erfc_far(a);
  y = x < 0. ? 2. - y : y;
  y = a < 0.65 ? 1. - pb_erf_near(x) : y;
  return x != x ? x : y;
}

/* x^y: x < 0 is defined for whole y only */
PB double pb_powf_f64(double x, double y) { return pow(x, y); }
PB double pb_pow_short(double x, double y) {
  double a = fabs(x), r = pb_exp_f64(y * pb_log_f64(a)), whole = rint(y), half = y * 0.5;
  int odd = (whole == y) & (rint(half) != half);
  double below = odd ? -r : r, far = (a > 1.) == (y > 0.) ? INFINITY : 0.;
  below = whole != y ? NAN : below;
  r = x < 0. ? below : r;
  double none = y < 0. ? INFINITY : 0., all = y < 0. ? 0. : INFINITY;
  none = odd ? copysign(none, x) : none;
  all = (x < 0.) & odd ? -all : all;
  r = a == 0. ? none : r;
  r = a == INFINITY ? all : r;
  far = a == 1. ? 1. : far;
  r = fabs(y) == INFINITY ? far : r;
  r = (x != x) | (y != y) ? x + y : r;
  return (x == 1.) | (y == 0.) ? 1. : r;
}

/* ---- float32 by way of float64: half an ulp without effort */

#define PB_WIDE(f) PB float pb_##f##_f32(float x) { return (float)pb_##f##_f64((double)x); }
PB float pb_sin_f32(float x) { return x == 0.f ? x : (float)pb_turn_short((double)x, 0); }
PB float pb_cos_f32(float x) { return (float)pb_turn_short((double)x, 1); }
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
PB float pb_sinh_f32(float x) {
  double e = pb_exp_f64((double)fabsf(x)), y = 0.5 * (e - 1. / e);
  return fabsf(x) < 0x1p-10f ? FMA(x * x * x, 0x1.555556p-3f, x) : x != x ? x : (float)copysign(y, (double)x);
}
PB float pb_cosh_f32(float x) {
  double e = pb_exp_f64((double)x);
  return (float)(0.5 * (e + 1. / e));
}
PB_WIDE(asinh)
PB_WIDE(acosh)
PB_WIDE(atanh)

/* ---- what is the same for both types */

#define PB_BOTH(T, N)                                                                                \
  PB T pb_sigmoid_##N(T x) { return (T)1 / ((T)1 + pb_exp_##N(-x)); }                                \
  PB T pb_log2_##N(T x) { return (T)(pb_log_f64((double)x) * 0x1.71547652b82fep+0); }                \
  PB T pb_log10_##N(T x) { return (T)(pb_log_f64((double)x) * 0x1.bcb7b1526e50ep-2); }               \
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
PB_PLAIN(abs, fabsf, fabs)
PB_PLAIN(floor, floorf, floor)
PB_PLAIN(ceil, ceilf, ceil)
PB_PLAIN(trunc, truncf, trunc)
PB_PLAIN(rint, rintf, rint)
PB float pb_copysign_f32(float a, float b) { return copysignf(a, b); }
PB double pb_copysign_f64(double a, double b) { return copysign(a, b); }
PB int64_t pb_abs_i64(int64_t x) { return x < 0 ? -x : x; }
PB int64_t pb_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
PB int64_t pb_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
PB int64_t pb_sign_i64(int64_t x) { return (x > 0) - (x < 0); }

/* results of the fast way at arguments beyond its range, one by one: they are rare */
#define PB_MEND(f, T, N, SCALAR)                                                                     \
  static __attribute__((noinline, unused)) void pb_mend_##f##_##N(const T *x, T *y, int64_t m) {     \
    for (int64_t j = 0; j < m; j++)                                                                  \
      if (!(x[j] < (T)0x1p30 && x[j] > (T)-0x1p30)) y[j] = (T)SCALAR((double)x[j]);                  \
  }
PB_MEND(sin, float, f32, sin)
PB_MEND(cos, float, f32, cos)
PB_MEND(tan, float, f32, tan)
PB_MEND(sin, double, f64, sin)
PB_MEND(cos, double, f64, cos)
PB_MEND(tan, double, f64, tan)
#define PB_BEYOND(T, N)                                                                              \
  PB int pb_beyond_##N(const T *x, int64_t m) {                                                      \
    int bad = 0;                                                                                     \
    for (int64_t j = 0; j < m; j++) bad |= !(x[j] < (T)0x1p30) | !(x[j] > (T)-0x1p30);               \
    return bad;                                                                                      \
  }
PB_BEYOND(float, f32)
PB_BEYOND(double, f64)
