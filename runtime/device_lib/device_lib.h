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

/* The next number of a xorshift128 generator. `state` is the thread's line of
 * KilnContext.random_states and not all zero. Integers have all bits random,
 * floats are uniform in [0, 1). */
uint32_t kiln_random_u32(uint32_t* state);
uint64_t kiln_random_u64(uint32_t* state);
float kiln_random_f32(uint32_t* state);
double kiln_random_f64(uint32_t* state);

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
