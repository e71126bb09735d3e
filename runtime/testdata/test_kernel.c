/* Tasks of the shapes that the compiler makes. */
#include <time.h>

#include "runtime/abi.h"

/* results[0] = arguments[0] + 1 */
void add_one(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  c->results[0] = c->arguments[0] + 1;
}

/* y[i] += 1 for i < arguments[1] */
void count_up(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  int32_t* y = (int32_t*)c->arguments[0];
  for (int64_t i = begin; i < end; ++i) y[i] += 1;
}

void count_up_bounds(const KilnContext* c, int64_t out[2]) {
  out[0] = 0;
  out[1] = (int64_t)c->arguments[1];
}

/* temporaries[0] += sum of i, then results[0] = temporaries[0] */
void sum(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  int64_t local = 0;
  for (int64_t i = begin; i < end; ++i) local += i;
  __atomic_fetch_add((int64_t*)c->temporaries, local, __ATOMIC_RELAXED);
}

void sum_out(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  c->results[0] = *(uint64_t*)c->temporaries;
}

void print_each(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    uint64_t value = (uint64_t)i;
    c->runtime->print(c, 7, 1, &value);
  }
}

/* Fails from arguments[0] on; counts what ran in temporaries. */
void fail_from(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    if ((uint64_t)i >= c->arguments[0]) {
      uint64_t value = (uint64_t)i;
      c->runtime->fail(c, 9, 1, &value);
      return;
    }
  }
}

/* results[0] = what the launch's random numbers follow from. */
void draw(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  c->results[0] = c->random;
}

/* Adds up floats that are far apart, piece by piece, in temporaries. */
void add_up(const KilnContext* c, int64_t begin, int64_t end, int32_t piece) {
  float sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += 1.0f / (float)(i + 1);
  ((float*)c->partials)[2 * piece] = sum;
}

void add_up_finish(const KilnContext* c, int64_t begin, int64_t end, int32_t unused) {
  for (int64_t i = begin; i < end; ++i) *(float*)c->temporaries += ((float*)c->partials)[2 * i];
}

/* *arguments[0] += 1 for each i: with atomics, and for a caller on its own. */
void bump(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    __atomic_fetch_add((int64_t*)c->arguments[0], 1, __ATOMIC_RELAXED);
  }
}

void bump_alone(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  volatile int64_t* y = (volatile int64_t*)c->arguments[0];
  for (int64_t i = begin; i < end; ++i) *y = *y + 1;
}

static void spin(int64_t microseconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 <
           microseconds);
}

/* *arguments[0] += 1 for each i, which takes 60 microseconds. */
void linger(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    __atomic_fetch_add((int64_t*)c->arguments[0], 1, __ATOMIC_RELAXED);
    spin(60);
  }
}

/* y[i] += 1; the first iterations take 25 ms each. */
void count_up_slowly_at_first(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    if (i < 4) spin(25000);
    ((int32_t*)c->arguments[0])[i] += 1;
  }
}

void seven(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  c->results[0] = 7;
}

/* A microsecond each where threads share them. On its own, 10 ms in each of the first two calls,
 * of which arguments[0] counts, and nothing from then on. */
void contended(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  spin(end - begin);
}

void contended_alone(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  if (++*(int64_t*)c->arguments[0] <= 2) spin(10000);
}

/* A microsecond each; arguments[0] counts them. The other takes twenty and counts nothing. */
void counted(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  spin(end - begin);
  __atomic_fetch_add((int64_t*)c->arguments[0], end - begin, __ATOMIC_RELAXED);
}

void counted_not(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  spin(20 * (end - begin));
}

void nothing(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {}

/* Trees: arguments[0] is the root's cell, a pointer SNode's container; arguments[1] the nodes,
 * of which number 1 is that SNode. Its cells hold one i32. */
static KilnNode* node(const KilnContext* c) { return ((KilnNode**)c->arguments[1])[1]; }

/* cell i = i */
void activate_cells(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  uint8_t** slots = (uint8_t**)c->arguments[0];
  for (int64_t i = begin; i < end; ++i) {
    *(int32_t*)c->runtime->activate(c, node(c), slots + i) = (int32_t)i;
  }
}

void deactivate_odd_cells(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    if (i % 2 != 0) c->runtime->deactivate(c, node(c), (uint8_t*)c->arguments[0], i);
  }
}

/* Three iterations an element: the first adds 1000. */
void bump_cells(const KilnContext* c, int64_t begin, int64_t end, int32_t thread) {
  for (int64_t i = begin; i < end; ++i) {
    if (i % 3 == 0) *(int32_t*)c->elements[i / 3].cell += 1000;
  }
}
