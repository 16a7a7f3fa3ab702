/* Blocks: how elements of any layout and type come into contiguous blocks and back, and how blocks are summed.

   A geometry says where elements lie: g[0] dimensions, their sizes from the outermost, then for each operand its
   strides, after one number that is 1 where the operand is contiguous in this order. No geometry: all are. */

typedef float pb_v8 __attribute__((vector_size(32)));
typedef int32_t pb_i8 __attribute__((vector_size(32)));
typedef double pb_v4 __attribute__((vector_size(32)));

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

/* conditions of a block, to and from eight in a byte; bytes that end a block are filled with zeros */
static __attribute__((unused)) void pb_pack(uint8_t *d, int *s, int64_t m) {
  int64_t bytes = (m + 7) / 8;
  memset(s + m, 0, sizeof(int) * (size_t)(8 * bytes - m));
  for (int64_t b = 0; b < bytes; b++) {
#ifdef __AVX__  /* the signs of eight numbers, by one instruction */
    pb_i8 c;
    memcpy(&c, s + 8 * b, sizeof c);
    d[b] = (uint8_t)__builtin_ia32_movmskps256((pb_v8)-c);
#else
    uint8_t c[8];
    uint64_t w;
    for (int k = 0; k < 8; k++) c[k] = (uint8_t)s[8 * b + k];
    memcpy(&w, c, 8);
    d[b] = (uint8_t)(w * 0x0102040810204080u >> 56);
#endif
  }
}
static __attribute__((unused)) void pb_unpack(int *d, const uint8_t *s, int64_t m) {
  const pb_i8 bit = {1, 2, 4, 8, 16, 32, 64, 128};
  for (int64_t b = 0; b < (m + 7) / 8; b++) {
    pb_i8 c = -((bit & (int)s[b]) != 0);
    memcpy(d + 8 * b, &c, sizeof c);
  }
}

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

/* the sum of a block: four vectors side by side and a tree, the same for every width that the processor has */
#define PB_SUM(T, V, N, L)                                                                           \
  static __attribute__((unused)) double pb_sum_##N(const T *v, int64_t m) {                          \
    V a = {0}, b = {0}, c = {0}, d = {0}, x, y, z, w;                                                \
    int64_t j = 0;                                                                                   \
    for (; j + 4 * L <= m; j += 4 * L) {                                                             \
      memcpy(&x, v + j, sizeof x), memcpy(&y, v + j + L, sizeof x);                                  \
      memcpy(&z, v + j + 2 * L, sizeof x), memcpy(&w, v + j + 3 * L, sizeof x);                      \
      a += x, b += y, c += z, d += w;                                                                \
    }                                                                                                \
    T lanes[4 * L];                                                                                  \
    double t[4 * L];                                                                                 \
    memcpy(lanes, &a, sizeof a), memcpy(lanes + L, &b, sizeof a);                                    \
    memcpy(lanes + 2 * L, &c, sizeof a), memcpy(lanes + 3 * L, &d, sizeof a);                        \
    for (int l = 0; l < 4 * L; l++) t[l] = (double)lanes[l];                                         \
    for (int l = 0; j < m; j++, l++) t[l] += (double)v[j];                                           \
    for (int h = 2 * L; h; h /= 2) for (int l = 0; l < h; l++) t[l] += t[l + h];                     \
    return t[0];                                                                                     \
  }
PB_SUM(float, pb_v8, f32, 8)
PB_SUM(double, pb_v4, f64, 4)
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
