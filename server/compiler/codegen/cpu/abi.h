// Where code for CPUs finds the fields of runtime/abi.h's structs. ../abi.h has those that all
// targets share, and says how a change shows.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_ABI_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/abi.h"
#include "server/compiler/codegen/abi.h"

namespace kiln::abi {

// KilnContext: all of these are loaded as pointers, `random` included.
inline constexpr int64_t kArguments = offsetof(KilnContext, arguments);
inline constexpr int64_t kResults = offsetof(KilnContext, results);
inline constexpr int64_t kTemporaries = offsetof(KilnContext, temporaries);
inline constexpr int64_t kRuntime = offsetof(KilnContext, runtime);
inline constexpr int64_t kRandom = offsetof(KilnContext, random);
inline constexpr int64_t kFailed = offsetof(KilnContext, failed);
inline constexpr int64_t kElements = offsetof(KilnContext, elements);
inline constexpr int64_t kPartials = offsetof(KilnContext, partials);
static_assert(std::is_same_v<decltype(KilnContext::arguments), const uint64_t*>);
static_assert(std::is_same_v<decltype(KilnContext::results), uint64_t*>);
static_assert(sizeof(KilnContext::random) == kPointerBytes);
static_assert(std::is_same_v<decltype(KilnContext::failed), volatile uint32_t*>);

// KilnContext: loaded as an i64 by each access, never from the entry block.
inline constexpr int64_t kAlone = offsetof(KilnContext, alone);
static_assert(sizeof(KilnContext::alone) == sizeof(int64_t));

// KilnRuntime: functions.
inline constexpr int64_t kPrint = offsetof(KilnRuntime, print);
inline constexpr int64_t kFail = offsetof(KilnRuntime, fail);
inline constexpr int64_t kDeactivate = offsetof(KilnRuntime, deactivate);
inline constexpr int64_t kTapePush = offsetof(KilnRuntime, tape_push);
inline constexpr int64_t kTapeTop = offsetof(KilnRuntime, tape_top);
inline constexpr int64_t kTapePop = offsetof(KilnRuntime, tape_pop);
static_assert(std::is_same_v<decltype(KilnRuntime::print), decltype(KilnRuntime::fail)>);

// KilnRuntime: loaded as an i64.
inline constexpr int64_t kStreamFrom = offsetof(KilnRuntime, stream_from);
static_assert(sizeof(KilnRuntime::stream_from) == sizeof(int64_t));

}  // namespace kiln::abi

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_ABI_H_
