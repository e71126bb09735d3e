/* A CUDA driver without a device, for tests of runtime/cuda: the "device's" memory is the host's,
 * at other addresses, where the host cannot use it. The code of kernels is below, in C. With
 * KILN_EMPTY_LAUNCHES, launches do nothing: what remains is the client's work
 * (bench/launch_cuda.py). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/cuda_abi.h"

/* What a test asks of the driver, and what it learns: it finds the variable by dlsym. */
struct FakeDriver {
  int32_t fail_allocation; /* the n-th from now on fails; 0: none */
  int32_t fail_launch;     /* the code that launches return */
  int32_t refuse_cubins;
  int64_t launches, copies_in, copies_out, fills, waits, live, stack;
  uint64_t bytes_in, bytes_out;
  uint32_t last_blocks, last_threads;
  uint64_t last_recorded, last_waiting; /* streams of events */
  int64_t graphs, changed_nodes;
  uint64_t last_launched, orders; /* the stream of a launch; of waits of streams for events */
  int64_t switches;               /* of the current context */
  int32_t last_device;            /* of a launch */
  int32_t fail_change;            /* the n-th change of a graph from now on fails; 0: none */
} fake_driver;
static char contexts[2]; /* the devices' */
static __thread char* current;

enum { kOk = 0, kOutOfMemory = 2, kNoBinary = 209, kNotFound = 500 };

/* Added to an address of the host. */
static const uint64_t kAway = (uint64_t)1 << 46;
static void* host(uint64_t address) { return (void*)(address - kAway); }

int cuInit(unsigned flags) { return kOk; }
int cuDriverGetVersion(int* version) { return *version = 13000, kOk; }
int cuGetErrorName(int code, const char** name) {
  *name = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS";
  return kOk;
}
int cuGetErrorString(int code, const char** text) { return *text = "it is a test", kOk; }
int cuDeviceGetCount(int* count) { return *count = 2, kOk; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, kOk; }
int cuDeviceGetName(char* name, int size, int device) { return strcpy(name, "Fake"), kOk; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? 9 - device : attribute == 16 ? 4 : attribute == 102;
  return kOk;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &contexts[device], kOk;
}
int cuCtxSetCurrent(void* context) { return ++fake_driver.switches, current = context, kOk; }
int cuCtxGetCurrent(void** context) { return *context = current, kOk; }
int cuCtxSynchronize(void) { return ++fake_driver.waits, fake_driver.fail_launch; }

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (fake_driver.fail_allocation != 0 && --fake_driver.fail_allocation == 0) return kOutOfMemory;
  ++fake_driver.live;
  /* Not zeroed: whoever needs zeros has to ask. */
  *address = (uint64_t)memset(malloc(bytes), 0xa5, bytes) + kAway;
  return kOk;
}
int cuMemFree_v2(uint64_t address) { return --fake_driver.live, free(host(address)), kOk; }
int cuMemGetInfo_v2(size_t* left, size_t* total) { return *left = 1 << 20, *total = 8 << 20, kOk; }
/* Virtual memory: pages that nothing may use until they are mapped. A handle is its size. */
int cuMemGetAllocationGranularity(size_t* bytes, const void* kind, int option) {
  return *bytes = 1 << 20, kOk;
}
int cuMemAddressReserve(uint64_t* address, size_t bytes, size_t alignment, uint64_t wanted,
                        unsigned long long flags) {
  void* at = mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ++fake_driver.live;
  return *address = (uint64_t)at + kAway, kOk;
}
int cuMemAddressFree(uint64_t address, size_t bytes) {
  return --fake_driver.live, munmap(host(address), bytes);
}
int cuMemCreate(unsigned long long* memory, size_t bytes, const void* kind,
                unsigned long long flags) {
  if (fake_driver.fail_allocation != 0 && --fake_driver.fail_allocation == 0) return kOutOfMemory;
  return ++fake_driver.live, *memory = bytes, kOk;
}
int cuMemRelease(unsigned long long memory) { return kOk; }
int cuMemMap(uint64_t at, size_t bytes, size_t offset, unsigned long long memory,
             unsigned long long flags) {
  return memory != bytes;
}
int cuMemSetAccess(uint64_t at, size_t bytes, const void* access, size_t count) {
  if (mprotect(host(at), bytes, PROT_READ | PROT_WRITE) != 0) return 1;
  return memset(host(at), 0xa5, bytes), kOk;
}
int cuMemUnmap(uint64_t at, size_t bytes) {
  return --fake_driver.live, mprotect(host(at), bytes, PROT_NONE);
}
int cuMemHostAlloc(void** at, size_t bytes, unsigned flags) { return *at = malloc(bytes), kOk; }
int cuMemFreeHost(void* at) { return free(at), kOk; }
int cuMemHostGetDevicePointer_v2(uint64_t* address, void* at, unsigned flags) {
  return *address = (uint64_t)at + kAway, kOk;
}

int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  ++fake_driver.copies_in, fake_driver.bytes_in += bytes;
  return memcpy(host(to), from, bytes), kOk;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  ++fake_driver.copies_out, fake_driver.bytes_out += bytes;
  return memcpy(to, host(from), bytes), kOk;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return memcpy(host(to), host(from), bytes), kOk;
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t count, void* stream) {
  return ++fake_driver.fills, memset(host(at), value, count), kOk;
}
int cuMemsetD16Async(uint64_t at, unsigned short value, size_t count, void* stream) {
  for (uint16_t* to = host(at); count > 0; --count) *to++ = value;
  return ++fake_driver.fills, kOk;
}
int cuMemsetD32Async(uint64_t at, unsigned value, size_t count, void* stream) {
  for (uint32_t* to = host(at); count > 0; --count) *to++ = value;
  return ++fake_driver.fills, kOk;
}

int cuCtxSetLimit(int limit, size_t value) {
  if (limit != 0 || value > 512 << 10) return 1;
  return fake_driver.stack = value, kOk;
}

/* --- Kernels. Arguments: the address of i32s, and their number. --- */

static void add_one(KilnCudaLaunch* l) {
  int32_t* x = host(l->arguments[0]);
  for (uint64_t i = 0; i < l->arguments[1]; ++i) ++x[i];
}
static void sum(KilnCudaLaunch* l) {
  int32_t* x = host(l->arguments[0]);
  uint64_t* total = host((uint64_t)l->temporaries);
  for (uint64_t i = 0; i < l->arguments[1]; ++i) *total += x[i];
}
static void keep(KilnCudaLaunch* l) {
  *(int32_t*)host(l->arguments[0]) = (int32_t)*(uint64_t*)host((uint64_t)l->temporaries);
}
static void draw(KilnCudaLaunch* l) { *(uint64_t*)host(l->arguments[0]) = l->random; }
static void give(KilnCudaLaunch* l) {
  *(uint64_t*)host((uint64_t)l->results) = *(uint64_t*)host((uint64_t)l->temporaries);
}
/* Prints its arguments as node 7, in an order that no loop has, and fails at node 9. */
static void report(KilnCudaLaunch* l) {
  KilnCudaReports* reports = host((uint64_t)l->reports);
  for (int i = 1; i >= 0; --i) {
    const uint32_t size = sizeof(KilnCudaPrint) + 8;
    KilnCudaPrint* print = (KilnCudaPrint*)(reports->prints + reports->print_bytes);
    reports->print_bytes += size;
    if (reports->print_bytes > reports->print_capacity) return;
    *print = (KilnCudaPrint){size, 7, 1, (uint32_t)l->task, (uint64_t)i};
    print->values[0] = l->arguments[i];
  }
  reports->failed = reports->ready = 1;
  reports->node = 9, reports->count = 1, reports->values[0] = 42;
}

static const struct {
  const char* name;
  void (*run)(KilnCudaLaunch*);
} kFunctions[] = {
    {"add_one", add_one},
    {"sum", sum},
    {"draw", draw},
    {"give", give},
    {"keep", keep},
    {"report", report},
    /* So that kernels of Python run if they add one to all elements of their only argument. */
    {"task_0", add_one},
};

int cuPointerGetAttribute(void* value, int attribute, uint64_t address) {
  if (address < kAway) return 1;
  /* Memory of a device, of the first one but for addresses that tests make up. */
  return *(int*)value = attribute == 2 ? 2 : address >> 60 != 0, kOk;
}
int cuEventCreate(void** event, unsigned flags) { return *event = &fake_driver, kOk; }
int cuEventDestroy_v2(void* event) { return kOk; }
int cuEventRecord(void* event, void* stream) {
  return fake_driver.last_recorded = (uint64_t)stream, kOk;
}
int cuEventSynchronize(void* event) { return kOk; }
int cuEventElapsedTime(float* ms, void* from, void* to) { return *ms = 1.5f, kOk; }
/* Streams have small numbers; those from 100 on are of another context. */
int cuStreamGetCtx(void* stream, void** context) {
  if ((uint64_t)stream > 1000) return 400;
  return *context = (uint64_t)stream < 100 ? current : NULL, kOk;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  ++fake_driver.orders;
  return fake_driver.last_waiting = (uint64_t)stream, kOk;
}

int cuModuleLoadData(void** module, const void* image) {
  if (fake_driver.refuse_cubins && memcmp(image, "cubin", 5) == 0) return kNoBinary;
  return *module = &fake_driver, kOk;
}
int cuModuleUnload(void* module) { return kOk; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    if (strcmp(kFunctions[i].name, name) == 0) return *function = (void*)&kFunctions[i], kOk;
  }
#ifdef KILN_EMPTY_LAUNCHES
  return *function = (void*)&kFunctions[0], kOk;
#endif
  return kNotFound;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                size_t shared) {
  return *blocks = 2048 / threads, kOk;
}
int cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void* stream,
                              void** parameters) {
  return 801;
}
/* Chains of nodes, with parameters of two argument slots. */
typedef struct Node {
  void* function; /* null: a fill */
  unsigned blocks, threads;
  uint64_t at, parameters[sizeof(KilnCudaLaunch) / 8 + 2];
  unsigned value;
  size_t width;
  struct Node* next;
} Node;
typedef struct Graph {
  Node *first, *last;
} Graph;
/* The prefixes of what the driver's calls take. */
typedef struct KernelNode {
  void* function;
  unsigned sizes[7];
  void** parameters;
} KernelNode;
typedef struct FillNode {
  uint64_t at;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width;
} FillNode;

int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**);

static int add_node(Graph* graph, Node** made) {
  Node* node = *made = calloc(1, sizeof(Node));
  *(graph->last == NULL ? &graph->first : &graph->last->next) = node;
  return graph->last = node, kOk;
}
int cuGraphCreate(Graph** graph, unsigned flags) { return *graph = calloc(1, sizeof **graph), kOk; }
int cuGraphDestroy(Graph* graph) { return kOk; }
int cuGraphExecDestroy(Graph* graph) { return kOk; }
int cuGraphExecKernelNodeSetParams(Graph* graph, Node* node, const KernelNode* given) {
  if (fake_driver.fail_change != 0 && --fake_driver.fail_change == 0) return 700;
  node->function = given->function;
  node->blocks = given->sizes[0], node->threads = given->sizes[3];
#ifndef KILN_EMPTY_LAUNCHES
  memcpy(node->parameters, given->parameters[0], sizeof node->parameters);
#endif
  return ++fake_driver.changed_nodes, kOk;
}
int cuGraphAddKernelNode(Node** node, Graph* graph, Node* const* after, size_t count,
                         const KernelNode* given) {
  add_node(graph, node);
  cuGraphExecKernelNodeSetParams(graph, *node, given);
  return --fake_driver.changed_nodes, kOk;
}
int cuGraphAddMemsetNode(Node** node, Graph* graph, Node* const* after, size_t count,
                         const FillNode* given, void* context) {
  add_node(graph, node);
  (*node)->at = given->at, (*node)->value = given->value, (*node)->width = given->width;
  return kOk;
}
int cuGraphKernelNodeSetAttribute(Node* node, int attribute, const void* value) { return 801; }
int cuGraphInstantiateWithFlags(Graph** made, Graph* graph, unsigned long long flags) {
  return *made = graph, kOk;
}
int cuGraphLaunch(Graph* graph, void* stream) {
#ifdef KILN_EMPTY_LAUNCHES
  return kOk;
#endif
  if (fake_driver.fail_launch != 0) return fake_driver.fail_launch;
  ++fake_driver.graphs;
  for (Node* node = graph->first; node != NULL; node = node->next) {
    void* parameters[] = {node->parameters};
    if (node->function == NULL)
      memset(host(node->at), (int)node->value, node->width);
    else
      cuLaunchKernel(node->function, node->blocks, 1, 1, node->threads, 1, 1, 0, stream, parameters,
                     NULL);
  }
  return kOk;
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
#ifdef KILN_EMPTY_LAUNCHES
  return kOk;
#endif
  if (fake_driver.fail_launch != 0) return fake_driver.fail_launch;
  ++fake_driver.launches;
  fake_driver.last_launched = (uint64_t)stream;
  fake_driver.last_device = (int32_t)(current - contexts);
  fake_driver.last_blocks = gx, fake_driver.last_threads = bx;
  ((void (*)(KilnCudaLaunch*))((const void* const*)function)[1])(parameters[0]);
  return kOk;
}
