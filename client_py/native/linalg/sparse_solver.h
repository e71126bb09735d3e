// Solvers of sparse linear systems over Eigen: factorisations behind one interface,
// and conjugate gradients.
#ifndef KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_SOLVER_H_
#define KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_SOLVER_H_

#include <memory>

#include "client_py/native/linalg/sparse_matrix.h"

namespace kiln {

enum class Factorization { kLlt, kLdlt, kLu };
enum class Ordering { kAmd, kColamd };

// A factorised matrix. Not thread-safe.
template <typename T>
class SparseSolver {
 public:
  virtual ~SparseSolver() = default;
  // Chooses the order of elimination from the pattern of `matrix`. Requires: it is square.
  virtual void AnalyzePattern(const SparseMatrix<T>& matrix) = 0;
  // Requires AnalyzePattern on a matrix of the same pattern.
  virtual void Factorize(const SparseMatrix<T>& matrix) = 0;
  // Whether all steps so far succeeded.
  virtual bool ok() const = 0;
  // x with matrix * x = b. Requires a factorised matrix with as many rows as `b`, and ok().
  virtual DenseVector<T> Solve(const DenseVector<T>& b) const = 0;
};

// LLT and LDLT read only the lower triangle of a symmetric matrix; LU accepts any matrix.
template <typename T>
std::unique_ptr<SparseSolver<T>> MakeSparseSolver(Factorization factorization, Ordering ordering);

template <typename T>
struct ConjugateGradientResult {
  DenseVector<T> x;
  int64_t iterations;
  double error;  // |matrix * x - b| / |b|, estimated
  bool converged;
};

// Solves matrix * x = b for a symmetric positive definite matrix; iterations start from `guess`.
template <typename T>
ConjugateGradientResult<T> SolveByConjugateGradients(const SparseMatrix<T>& matrix,
                                                     const DenseVector<T>& b,
                                                     const DenseVector<T>& guess,
                                                     int max_iterations, double tolerance);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_SOLVER_H_
