/* Shared by the programs of bench/modules.py. */
#ifndef KILN_BENCH_MODULES_H_
#define KILN_BENCH_MODULES_H_

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kKernels = 20, kElements = 16, kLaunches = 200000, kRounds = 7 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of the calling thread: other programs on the machine do not count. */
static inline double processor_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median of `kRounds` numbers. */
static double median(double* seconds) {
  qsort(seconds, kRounds, sizeof *seconds, compare);
  return seconds[kRounds / 2];
}

#endif /* KILN_BENCH_MODULES_H_ */
