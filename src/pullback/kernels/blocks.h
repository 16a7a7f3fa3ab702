/* Blocks: how elements of any layout and type come into contiguous blocks and back, and how blocks are summed.

   A geometry says where elements lie: g[0] dimensions, their sizes from the outermost, then for each operand its
   strides, after one number that is 1 where the operand is contiguous in this order. No geometry: all are. */

typedef float pb_v16 __attribute__((vector_size(64)));
typedef double pb_v8d __attribute__((vector_size(64)));

#define PB_LINEAR(g, i) (!(g) || (g)[1 + (g)[0] + (i) * ((g)[0] + 1)])
#define PB_STRIDES(g, i) ((g) + 2 + (g)[0] + (i) * ((g)[0] + 1))

/* visit the pieces of elements q .. q+m that lie along the innermost dimension */
#define PB_PIECES(g, st, q, m, BODY)                                                                 \
  do {                                                                                               \
    int64_t D_ = (g)[0], ix[16], off = 0, left = (m), rest = (q);                          \
    const int64_t *sz = (g) + 1;                                                                     \
    for (int64_t k = D_ - 1; k >= 0; k--) ix[k] = rest % sz[k], rest /= sz[k], off += ix[k] * (st)[k]; \
    int64_t step = (st)[D_ - 1];                                                                     \
    while (left > 0) {                                                                               \
      int64_t c = sz[D_ - 1] - ix[D_ - 1];                                                           \
      if (c > left) c = left;                                                                        \
      BODY;                                                                                          \
      left -= c, off += c * step, ix[D_ - 1] += c;                                                   \
      for (int64_t k = D_ - 1; k > 0 && ix[k] == sz[k]; k--)                                         \
        off += (st)[k - 1] - ix[k] * (st)[k], ix[k] = 0, ix[k - 1]++;                                \
    }                                                                                                \
  } while (0)

#define PB_MOVES(T, N)                                                                               \
  static __attribute__((unused)) void pb_gather_##N(T *d, const T *s, const int64_t *g, const int64_t *st, \
                                                    int64_t q, int64_t m) {                          \
    PB_PIECES(g, st, q, m, {                                                                         \
      const T *a = s + off;                                                                          \
      if (step == 1) memcpy(d, a, sizeof(T) * (size_t)c);                                            \
      else if (step == 0) { T v = *a; for (int64_t j = 0; j < c; j++) d[j] = v; }                    \
      else for (int64_t j = 0; j < c; j++) d[j] = a[j * step];                                       \
      d += c;                                                                                        \
    });                                                                                              \
  }                                                                                                  \
  static __attribute__((unused)) void pb_scatter_##N(T *d, const T *s, const int64_t *g, const int64_t *st, \
                                                     int64_t q, int64_t m) {                         \
    PB_PIECES(g, st, q, m, {                                                                         \
      T *a = d + off;                                                                                \
      for (int64_t j = 0; j < c; j++) a[j * step] = s[j];                                            \
      s += c;                                                                                        \
    });                                                                                              \
  }
PB_MOVES(uint8_t, 1)
PB_MOVES(uint16_t, 2)
PB_MOVES(uint32_t, 4)
PB_MOVES(uint64_t, 8)

/* conversions between storage and computation, in integers where the compiler has no vectors for them */
PB float pb_from_bf16(uint16_t h) { return pb_float((int32_t)((uint32_t)h << 16)); }
PB uint16_t pb_to_bf16(float x) {
  uint32_t u = (uint32_t)pb_bits(x), r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7fc0u : r);
}
PB float pb_from_f16(uint16_t h) {
  uint32_t w = (uint32_t)h << 16, sign = w & 0x80000000u, two = w + w;
  float normal = pb_float((int32_t)((two >> 4) + (0xE0u << 23))) * 0x1.0p-112f;
  float small = pb_float((int32_t)((two >> 17) | (126u << 23))) - 0.5f;
  return pb_float((int32_t)(sign | (uint32_t)pb_bits(two < (1u << 27) ? small : normal)));
}
PB uint16_t pb_to_f16(float x) {
  float base = (fabsf(x) * 0x1.0p+112f) * 0x1.0p-110f;
  uint32_t w = (uint32_t)pb_bits(x), two = w + w, sign = w & 0x80000000u, bias = two & 0xFF000000u;
  bias = bias < 0x71000000u ? 0x71000000u : bias;
  base = pb_float((int32_t)((bias >> 1) + 0x07800000u)) + base;
  uint32_t bits = (uint32_t)pb_bits(base), e = bits >> 13 & 0x7C00u, m = bits & 0x0FFFu;
  return (uint16_t)(sign >> 16 | (two > 0xFF000000u ? 0x7E00u : e + m));
}

/* the sum of a block: 16 lanes and a tree, the same for every vector width */
static __attribute__((unused)) double pb_sum_f32(const float *v, int64_t m) {
  pb_v16 a = {0}, b;
  int64_t j = 0;
  for (; j + 16 <= m; j += 16) { memcpy(&b, v + j, sizeof b); a += b; }
  double t[16];
  for (int l = 0; l < 16; l++) t[l] = (double)a[l];
  for (int l = 0; j < m; j++, l++) t[l] += (double)v[j];
  for (int w = 8; w; w /= 2) for (int l = 0; l < w; l++) t[l] += t[l + w];
  return t[0];
}
static __attribute__((unused)) double pb_sum_f64(const double *v, int64_t m) {
  pb_v8d a = {0}, b;
  int64_t j = 0;
  for (; j + 8 <= m; j += 8) { memcpy(&b, v + j, sizeof b); a += b; }
  for (int l = 0; j < m; j++, l++) a[l] += v[j];
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}
#define PB_SUMS(T, N)                                                                                \
  /* add a block into the cells that a geometry maps its elements to */                              \
  static __attribute__((unused)) void pb_add_##N(double *cells, const T *v, const int64_t *g, int64_t i, \
                                                 int64_t q, int64_t m) {                             \
    const int64_t *st = PB_STRIDES(g, i);                                                            \
    PB_PIECES(g, st, q, m, {                                                                         \
      double *a = cells + off;                                                                       \
      if (step == 0) *a += pb_sum_##N(v, c);                                                         \
      else for (int64_t j = 0; j < c; j++) a[j * step] += (double)v[j];                              \
      v += c;                                                                                        \
    });                                                                                              \
  }
PB_SUMS(float, f32)
PB_SUMS(double, f64)

/* a call: chunks of elements, whose number depends on the sizes alone, taken by threads as they come */
typedef void (*pb_pool)(void (*)(void *), void *, unsigned, unsigned);

/* ask for large pages under a large result: fresh memory costs more than computing what goes in */
#ifdef __linux__
#include <sys/mman.h>
#endif
static __attribute__((unused)) void pb_large(void *p, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  uintptr_t from = ((uintptr_t)p + 4095) & ~(uintptr_t)4095, to = ((uintptr_t)p + (uintptr_t)bytes) & ~(uintptr_t)4095;
  if (bytes >= 8 << 20) madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
  (void)p, (void)bytes;
#endif
}
