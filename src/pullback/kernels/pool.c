/* Large results, in memory that is used again.

   Fresh memory costs more than computing what goes into it: the system finds and clears each page at its first use.
   Here a result's memory comes behind a DLPack tensor with a deleter of its own. The deleter runs when the last alias
   is gone, whatever kind of alias it was, and puts the memory aside for the next result of about that size. What lies
   aside is marked as free for the system to take, where that is cheap (large pages) or where much lies aside already;
   what has lain there for long is unmapped. */
#define _GNU_SOURCE
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PB_API __attribute__((visibility("default")))
#define PB_RANK 16
#define PB_GRAIN ((size_t)64 << 10)
#define PB_HUGE ((size_t)2 << 20)
#define PB_SECONDS 10
#define PB_CHEAP ((size_t)8 << 20)   /* from here on marking costs nothing beside using the memory */
#define PB_FEW ((size_t)64 << 20)    /* up to here memory lies aside unmarked */

typedef struct {
  void *data;
  struct { int32_t type, id; } device;
  int32_t ndim;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t *sizes, *strides;
  uint64_t offset;
} pb_tensor;
typedef struct pb_managed {
  pb_tensor tensor;
  void *context;
  void (*deleter)(struct pb_managed *);
} pb_managed;
typedef struct pb_buffer {
  pb_managed managed;
  struct pb_buffer *next;
  size_t bytes;
  time_t since;
  int64_t sizes[PB_RANK], strides[PB_RANK];
} pb_buffer;

static pb_buffer *pb_idle;  /* the one that was put aside last comes first */
static size_t pb_idle_bytes;
static char pb_locked;

PB_API void pb_pool_lock(void) {
  while (__atomic_test_and_set(&pb_locked, __ATOMIC_ACQUIRE)) sched_yield();
}
PB_API void pb_pool_unlock(void) { __atomic_clear(&pb_locked, __ATOMIC_RELEASE); }
PB_API size_t pb_pool_idle(void) { return __atomic_load_n(&pb_idle_bytes, __ATOMIC_RELAXED); }

static time_t pb_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}
static void pb_unmapped(pb_buffer *b) {
  while (b) {
    pb_buffer *next = b->next;
    munmap(b->managed.tensor.data, b->bytes);
    free(b);
    b = next;
  }
}
/* cut off what is older than a time or above an amount; with the lock held */
static pb_buffer *pb_surplus(time_t oldest, size_t most) {
  size_t sum = 0;
  pb_buffer **at = &pb_idle, *rest;
  while (*at && (*at)->since >= oldest && sum + (*at)->bytes <= most) sum += (*at)->bytes, at = &(*at)->next;
  rest = *at, *at = NULL, pb_idle_bytes = sum;
  return rest;
}
PB_API void pb_pool_trim(void) {
  pb_pool_lock();
  pb_buffer *rest = pb_surplus(0, 0);
  pb_pool_unlock();
  pb_unmapped(rest);
}
/* put aside: called by whoever drops the last alias, with or without Python */
static void pb_deleted(pb_managed *m) {
  pb_buffer *b = m->context;
  size_t most = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE);
  if (b->bytes >= PB_CHEAP || pb_pool_idle() + b->bytes > PB_FEW) madvise(m->tensor.data, b->bytes, MADV_FREE);
  b->since = pb_now();
  pb_pool_lock();
  b->next = pb_idle, pb_idle = b;
  pb_buffer *rest = pb_surplus(b->since - PB_SECONDS, most);
  pb_pool_unlock();
  pb_unmapped(rest);
}
static pb_buffer *pb_again(size_t bytes) {
  pb_pool_lock();
  pb_buffer **at = &pb_idle, *b;
  while (*at && ((*at)->bytes < bytes || (*at)->bytes > bytes + bytes / 8)) at = &(*at)->next;
  if ((b = *at)) *at = b->next, pb_idle_bytes -= b->bytes;
  pb_pool_unlock();
  return b;
}
/* new memory, in large pages where the system has them */
static pb_buffer *pb_fresh(size_t bytes) {
  size_t spare = bytes >= PB_HUGE ? PB_HUGE : 0;
  pb_buffer *b = malloc(sizeof *b);
  char *p = b ? mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
  if (p == MAP_FAILED) { free(b); return NULL; }
  char *from = spare ? (char *)(((uintptr_t)p + spare - 1) & ~(uintptr_t)(spare - 1)) : p;
  if (from > p) munmap(p, (size_t)(from - p));
  if (p + spare > from) munmap(from + bytes, (size_t)(p + spare - from));
  if (spare) madvise(from, bytes, MADV_HUGEPAGE);
  b->managed.tensor.data = from, b->bytes = bytes;
  return b;
}
PB_API pb_managed *pb_pool_tensor(int64_t bytes, int ndim, const int64_t *sizes, const int64_t *strides, int code,
                                  int bits) {
  size_t grain = PB_HUGE - 1 - ((size_t)bytes - 1) % PB_HUGE <= (size_t)bytes / 8 ? PB_HUGE : PB_GRAIN;
  size_t whole = ((size_t)bytes + grain - 1) / grain * grain;
  pb_buffer *b = ndim <= PB_RANK ? pb_again(whole) : NULL;
  if (ndim > PB_RANK || (!b && !(b = pb_fresh(whole)))) return NULL;
  for (int d = 0; d < ndim; d++) b->sizes[d] = sizes[d], b->strides[d] = strides[d];
  pb_tensor *t = &b->managed.tensor;
  t->device.type = 1, t->device.id = 0, t->ndim = ndim, t->offset = 0;
  t->dtype.code = (uint8_t)code, t->dtype.bits = (uint8_t)bits, t->dtype.lanes = 1;
  t->sizes = b->sizes, t->strides = b->strides;
  b->managed.context = b, b->managed.deleter = pb_deleted;
  return &b->managed;
}
