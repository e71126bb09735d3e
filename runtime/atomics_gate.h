// Who may run tasks with atomics at the same time: many that use them, or one
// thread alone that reads and writes plainly instead.
//
// It orders loops whose bodies hold atomics. Serial code and the sums that a reduction
// adds once a chunk do not pass it: a program whose threads launch kernels that
// update the same element at the same time has to order those launches itself.
//
// One gate for the process. Thread safety: all functions. fork: the child finds the gate
// open.
#ifndef KILN_RUNTIME_ATOMICS_GATE_H_
#define KILN_RUNTIME_ATOMICS_GATE_H_

namespace kiln {

class AtomicsGate {
 public:
  // True when the caller is now the only one inside; never waits.
  static bool TryEnterAlone();
  static void LeaveAlone();
  // Waits while another thread is inside alone. Threads inside may enter again, in
  // whichever way they are inside.
  static void Enter();
  static void Leave();
};

}  // namespace kiln

#endif  // KILN_RUNTIME_ATOMICS_GATE_H_
