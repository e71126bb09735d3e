// A thread's writes before a request to gRPC are visible to the thread that takes the request's
// event from the queue. ThreadSanitizer cannot know this, because the system's gRPC is not built
// with it.
#include <dlfcn.h>
#include <grpc/grpc.h>

extern "C" void __tsan_acquire(void* at);
extern "C" void __tsan_release(void* at);

// The library's function of that name.
#define REAL(name) \
  static auto* const real = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

extern "C" grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count,
                                                 void* tag, void* reserved) {
  REAL(grpc_call_start_batch);
  __tsan_release(tag);
  return real(call, ops, count, tag, reserved);
}

extern "C" grpc_call_error grpc_server_request_registered_call(
    grpc_server* server, void* method, grpc_call** call, gpr_timespec* deadline,
    grpc_metadata_array* metadata, grpc_byte_buffer** payload, grpc_completion_queue* bound,
    grpc_completion_queue* notified, void* tag) {
  REAL(grpc_server_request_registered_call);
  __tsan_release(tag);
  return real(server, method, call, deadline, metadata, payload, bound, notified, tag);
}

extern "C" grpc_event grpc_completion_queue_next(grpc_completion_queue* queue,
                                                 gpr_timespec deadline, void* reserved) {
  REAL(grpc_completion_queue_next);
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}
