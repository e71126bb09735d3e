// Decides which threads may run tasks with atomics at the same time: many threads that use atomics,
// or one thread alone that uses plain reads and writes.
//
// It orders loops whose bodies contain atomics. Serial code, and the sums that a reduction adds
// once per chunk, do not pass the gate. If threads of a program launch kernels that update the same
// element this way, the program has to order those launches itself.
//
// One gate for the process, also if its parts have thread pools of their own: their kernels may
// share memory. Thread safety: all functions. fork: the child finds the gate open.
#ifndef KILN_RUNTIME_ATOMICS_GATE_H_
#define KILN_RUNTIME_ATOMICS_GATE_H_

namespace kiln {

class AtomicsGate {
 public:
  // True if the caller is now the only thread inside; never waits.
  static bool TryEnterAlone();
  static void LeaveAlone();
  // Waits while another thread is inside alone. A thread inside may enter again, in either mode.
  static void Enter();
  static void Leave();
};

}  // namespace kiln

#endif  // KILN_RUNTIME_ATOMICS_GATE_H_
