// The Python module kiln._linalg: sparse matrices and solvers, loaded at the first use of
// ti.linalg. Python code checks shapes and indices, because it has the texts of the errors.
//
// Vectors are passed as buffers that the caller allocates. pybind11's own support for NumPy
// (numpy.h, eigen.h) crashes with versions of NumPy that are newer than itself.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <memory>
#include <string>

#include "client_py/native/gil.h"
#include "client_py/native/linalg/number_buffer.h"
#include "client_py/native/linalg/sparse_matrix.h"
#include "client_py/native/linalg/sparse_solver.h"

namespace py = pybind11;

namespace kiln {
namespace {

using Unlocked = py::call_guard<GilReleased>;

template <typename T>
// A struct of our own for each type: pybind11 would otherwise want to convert Eigen's class itself.
struct Matrix {
  SparseMatrix<T> value;
};

template <typename T>
using MatrixPtr = std::unique_ptr<Matrix<T>>;

template <typename T, typename Expression>
MatrixPtr<T> Wrap(const Expression& expression) {
  return std::make_unique<Matrix<T>>(Matrix<T>{expression});
}

template <typename T>
MatrixPtr<T> MakeMatrix(int32_t num_rows, int32_t num_columns, const py::object& rows,
                        const py::object& columns, const py::object& values) {
  const NumberBuffer<const T> value(values, "values");
  // The sizes are checked against each other here, as Eigen would read beyond a shorter one.
  const NumberBuffer<const int32_t> row(rows, "rows", value.size());
  const NumberBuffer<const int32_t> column(columns, "columns", value.size());
  const GilReleased unlocked;
  return Wrap<T>(
      FromTriplets(num_rows, num_columns, row.data(), column.data(), value.data(), value.size()));
}

template <typename T>
void MultiplyVector(const Matrix<T>& a, const py::object& x, const py::object& product) {
  const NumberBuffer<const T> from(x, "x", a.value.cols());
  const NumberBuffer<T> to(product, "product", a.value.rows());
  const GilReleased unlocked;
  to.vector() = a.value * from.vector();
}

// The elements row by row: those of row i are numbers starts[i] to below starts[i + 1].
template <typename T>
void CopyRows(const Matrix<T>& a, const py::object& starts, const py::object& columns,
              const py::object& values) {
  const int64_t count = a.value.nonZeros();
  const NumberBuffer<int32_t> start(starts, "starts", a.value.rows() + 1);
  const NumberBuffer<int32_t> column(columns, "columns", count);
  const NumberBuffer<T> value(values, "values", count);
  const GilReleased unlocked;
  const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t> rows = a.value;
  std::copy_n(rows.outerIndexPtr(), rows.rows() + 1, start.data());
  std::copy_n(rows.innerIndexPtr(), count, column.data());
  std::copy_n(rows.valuePtr(), count, value.data());
}

template <typename T>
void BindMatrix(py::module_& m, const char* name) {
  using M = Matrix<T>;
  py::class_<M>(m, name)
      .def(py::init(&MakeMatrix<T>), "Of a shape, from the triplets (rows, columns, values).")
      .def(
          "add", [](const M& a, const M& b) { return Wrap<T>(a.value + b.value); }, Unlocked())
      .def(
          "subtract", [](const M& a, const M& b) { return Wrap<T>(a.value - b.value); }, Unlocked())
      .def(
          "scale", [](const M& a, T factor) { return Wrap<T>(a.value * factor); }, Unlocked())
      .def(
          "multiply_elements",
          [](const M& a, const M& b) { return Wrap<T>(a.value.cwiseProduct(b.value)); }, Unlocked())
      .def(
          "multiply", [](const M& a, const M& b) { return Wrap<T>(a.value * b.value); }, Unlocked())
      .def("multiply_vector", &MultiplyVector<T>)
      .def("to_rows", &CopyRows<T>)
      .def(
          "transpose", [](const M& a) { return Wrap<T>(a.value.transpose()); }, Unlocked())
      // With the GIL: these take less time than releasing it.
      .def("get", [](const M& a, int row, int column) { return a.value.coeff(row, column); })
      .def("set", [](M& a, int row, int column, T value) { a.value.coeffRef(row, column) = value; })
      .def("compress", [](M& a) { a.value.makeCompressed(); })
      .def(
          "to_text", [](const M& a) { return ToText(a.value); }, Unlocked())
      .def(
          "to_matrix_market", [](const M& a) { return ToMatrixMarket(a.value); }, Unlocked())
      .def_property_readonly("num_elements", [](const M& a) { return a.value.nonZeros(); })
      .def_property_readonly("num_rows", [](const M& a) { return a.value.rows(); })
      .def_property_readonly("num_columns", [](const M& a) { return a.value.cols(); });
}

template <typename T>
void Solve(const SparseSolver<T>& solver, const py::object& b, const py::object& x) {
  const NumberBuffer<const T> from(b, "b");
  const NumberBuffer<T> to(x, "x", from.size());
  const GilReleased unlocked;
  to.vector() = solver.Solve(from.vector());
}

template <typename T>
void BindSolver(py::module_& m, const char* name) {
  using S = SparseSolver<T>;
  py::class_<S>(m, name)
      .def(py::init([](bool lower, bool diagonal, bool colamd) {
             const Factorization factorization = !lower     ? Factorization::kLu
                                                 : diagonal ? Factorization::kLdlt
                                                            : Factorization::kLlt;
             return MakeSparseSolver<T>(factorization, colamd ? Ordering::kColamd : Ordering::kAmd);
           }),
           py::arg("symmetric"), py::arg("diagonal"), py::arg("colamd"))
      .def(
          "analyze_pattern", [](S& s, const Matrix<T>& a) { s.AnalyzePattern(a.value); },
          Unlocked())
      .def(
          "factorize", [](S& s, const Matrix<T>& a) { s.Factorize(a.value); }, Unlocked())
      .def("ok", &S::ok)
      .def("solve", &Solve<T>);
}

// `x` contains the initial guess, and receives the solution.
template <typename T>
py::tuple ConjugateGradients(const Matrix<T>& a, const py::object& b, const py::object& x,
                             int max_iterations, double tolerance) {
  const NumberBuffer<const T> from(b, "b", a.value.rows());
  const NumberBuffer<T> to(x, "x", a.value.rows());
  ConjugateGradientResult<T> result;
  {
    const GilReleased unlocked;
    result = SolveByConjugateGradients<T>(a.value, from.vector(), to.vector(), max_iterations,
                                          tolerance);
    to.vector() = result.x;
  }
  return py::make_tuple(result.iterations, result.error, result.converged);
}

}  // namespace
}  // namespace kiln

PYBIND11_MODULE(_linalg, m) {
  m.doc() = "Sparse matrices and solvers over Eigen; see kiln/linalg.";
  kiln::BindMatrix<float>(m, "MatrixF32");
  kiln::BindMatrix<double>(m, "MatrixF64");
  kiln::BindSolver<float>(m, "SolverF32");
  kiln::BindSolver<double>(m, "SolverF64");
  m.def("conjugate_gradients", &kiln::ConjugateGradients<float>);
  m.def("conjugate_gradients", &kiln::ConjugateGradients<double>);
}
