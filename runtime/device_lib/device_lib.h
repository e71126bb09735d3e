/* What generated code calls and LLVM inlines into it: one C++ source, compiled
 * natively for tests and to bitcode for the compiler. Plain functions of plain
 * data; nothing here allocates, locks or calls the C library.
 */
#ifndef KILN_RUNTIME_DEVICE_LIB_DEVICE_LIB_H_
#define KILN_RUNTIME_DEVICE_LIB_DEVICE_LIB_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number is a hash of a counter, which a constant separates from iteration to iteration, and
 * another one from number to number: SplitMix64 along either. The second is the first times the
 * golden ratio, and of all ratios that one keeps the counters of two iterations apart for longest:
 * of 2^40 iterations with 2^22 numbers each, no two meet. The key makes each launch's hash another
 * one, so that counters of two launches may meet. The compiler makes the same hash of vectors
 * (server/compiler/codegen/random_streams.cc). */
#define KILN_RANDOM_ITERATION_STEP 0x9e3779b97f4a7c15u
#define KILN_RANDOM_NUMBER_STEP (KILN_RANDOM_ITERATION_STEP * KILN_RANDOM_ITERATION_STEP)
#define KILN_RANDOM_FACTOR_1 0xbf58476d1ce4e5b9u
#define KILN_RANDOM_FACTOR_2 0x94d049bb133111ebu

/* A stream of random numbers: those of one iteration, or of one serial task. */
typedef struct KilnRandom {
  uint64_t counter, key;
} KilnRandom;

/* The stream of iteration `index` (0 in serial tasks) of task number `task` in the launch whose
 * KilnContext.random is `launch`. */
void kiln_random_start(KilnRandom* stream, uint64_t launch, uint64_t task, uint64_t index);

/* The stream's next number. Integers have all bits random, floats are uniform in [0, 1). */
uint64_t kiln_random_u64(KilnRandom* stream);
uint32_t kiln_random_u32(KilnRandom* stream);
float kiln_random_f32(KilnRandom* stream);
double kiln_random_f64(KilnRandom* stream);

/* base^exponent, wrapping; the exponent counts as unsigned. */
uint32_t kiln_pow_i32(uint32_t base, uint32_t exponent);
uint64_t kiln_pow_i64(uint64_t base, uint64_t exponent);
/* By repeated squaring; negative exponents give the reciprocal. */
float kiln_powi_f32(float base, int32_t exponent);
double kiln_powi_f64(double base, int32_t exponent);

/* *address += number, atomically, in no order with other memory. */
void kiln_atomic_add_f32(float* address, float number);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_DEVICE_LIB_DEVICE_LIB_H_ */
