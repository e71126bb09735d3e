#include "client_py/native/linalg/sparse_solver.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

namespace kiln {
namespace {

// Any of Eigen's direct solvers.
template <typename T, typename Solver>
class DirectSolver final : public SparseSolver<T> {
 public:
  void AnalyzePattern(const SparseMatrix<T>& matrix) override {
    solver_.analyzePattern(matrix);
    // Eigen's LU reports no outcome before a factorisation.
    factorized_ = false;
  }
  void Factorize(const SparseMatrix<T>& matrix) override {
    solver_.factorize(matrix);
    factorized_ = true;
  }
  bool ok() const override { return factorized_ && solver_.info() == Eigen::Success; }
  DenseVector<T> Solve(const DenseVector<T>& b) const override { return solver_.solve(b); }

 private:
  Solver solver_;
  bool factorized_ = false;
};

template <typename T, typename Order>
std::unique_ptr<SparseSolver<T>> MakeOrdered(Factorization factorization) {
  using Matrix = SparseMatrix<T>;
  switch (factorization) {
    case Factorization::kLlt:
      return std::make_unique<DirectSolver<T, Eigen::SimplicialLLT<Matrix, Eigen::Lower, Order>>>();
    case Factorization::kLdlt:
      return std::make_unique<
          DirectSolver<T, Eigen::SimplicialLDLT<Matrix, Eigen::Lower, Order>>>();
    case Factorization::kLu:
      return std::make_unique<DirectSolver<T, Eigen::SparseLU<Matrix, Order>>>();
  }
  return nullptr;
}

}  // namespace

template <typename T>
std::unique_ptr<SparseSolver<T>> MakeSparseSolver(Factorization factorization, Ordering ordering) {
  return ordering == Ordering::kAmd ? MakeOrdered<T, Eigen::AMDOrdering<int32_t>>(factorization)
                                    : MakeOrdered<T, Eigen::COLAMDOrdering<int32_t>>(factorization);
}

template <typename T>
ConjugateGradientResult<T> SolveByConjugateGradients(const SparseMatrix<T>& matrix,
                                                     const DenseVector<T>& b,
                                                     const DenseVector<T>& guess,
                                                     int max_iterations, double tolerance) {
  Eigen::ConjugateGradient<SparseMatrix<T>, Eigen::Lower | Eigen::Upper> solver;
  solver.setMaxIterations(max_iterations);
  solver.setTolerance(static_cast<T>(tolerance));
  solver.compute(matrix);
  ConjugateGradientResult<T> result;
  result.x = solver.solveWithGuess(b, guess);
  result.iterations = solver.iterations();
  result.error = static_cast<double>(solver.error());
  result.converged = solver.info() == Eigen::Success;
  return result;
}

#define INSTANTIATE(T)                                                                 \
  template std::unique_ptr<SparseSolver<T>> MakeSparseSolver(Factorization, Ordering); \
  template ConjugateGradientResult<T> SolveByConjugateGradients(                       \
      const SparseMatrix<T>&, const DenseVector<T>&, const DenseVector<T>&, int, double);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kiln
