// calls.ptx: clang++-19 --target=nvptx64 -Xclang -target-cpu -Xclang sm_90 -Xclang -target-feature
//   -Xclang +ptx78 -O2 -ffreestanding -nogpulib -S -o calls.ptx calls.cc
// Structs by value, local memory with computed places, a branch of many ways, atomics.
struct Launch {
  unsigned long long out, counter, other, arguments[5];
};
struct Five {
  int a[5];
};

__attribute__((noinline)) Five Real(const Launch* launch, Five v, double x) {
  Five w = v;
  w.a[0] += (int)x + (int)launch->arguments[0];
  w.a[v.a[1] & 3] = 4;
  return w;
}

__attribute__((noinline)) int Fibonacci(int n) {
  return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
}

extern "C" __attribute__((nvptx_kernel)) void task_0(Launch launch) {
  const int i =
      __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
  Five v;
  for (int j = 0; j < 5; ++j) v.a[j] = i * j;
  const Five w = Real(&launch, v, 3.5);
  int z = w.a[0] + w.a[1] + w.a[i % 5];
  switch (i % 7) {
    case 0:
      z += 3;
      break;
    case 1:
      z *= 8;
      break;
    case 2:
      z -= (int)launch.arguments[i % 5];
      break;
    case 4:
      __atomic_fetch_add((int*)launch.counter, i, __ATOMIC_RELAXED);
      break;
    case 5:
      z = Fibonacci(i % 11);
      break;
    default:
      z ^= 1;
  }
  ((int*)launch.out)[i] = z;
}
