// The Python module kiln._linalg: sparse matrices and solvers, loaded when a program
// first uses ti.linalg. Shapes and indices are checked on the Python side, which has
// the words for what is wrong.
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "client_py/linalg/sparse_matrix.h"
#include "client_py/linalg/sparse_solver.h"

namespace py = pybind11;

namespace kiln {
namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;
template <typename T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// A class of its own: pybind11/eigen.h would turn Eigen's sparse matrices into SciPy's.
template <typename T>
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
MatrixPtr<T> MakeMatrix(int32_t num_rows, int32_t num_columns, const Array<int32_t>& rows,
                        const Array<int32_t>& columns, const Array<T>& values) {
  if (rows.size() != values.size() || columns.size() != values.size()) {
    throw py::value_error("rows, columns and values must be equally many");
  }
  const int32_t *row = rows.data(), *column = columns.data();
  const T* value = values.data();
  const int64_t count = values.size();
  const py::gil_scoped_release unlocked;
  return Wrap<T>(FromTriplets(num_rows, num_columns, row, column, value, count));
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
      .def(
          "multiply_vector",
          [](const M& a, const DenseVector<T>& x) -> DenseVector<T> { return a.value * x; },
          Unlocked())
      .def(
          "transpose", [](const M& a) { return Wrap<T>(a.value.transpose()); }, Unlocked())
      .def("get", [](const M& a, int row, int column) { return a.value.coeff(row, column); })
      .def("set", [](M& a, int row, int column, T value) { a.value.coeffRef(row, column) = value; })
      .def("compress", [](M& a) { a.value.makeCompressed(); })
      .def(
          "to_text", [](const M& a) { return ToText(a.value); }, Unlocked())
      .def(
          "to_matrix_market", [](const M& a) { return ToMatrixMarket(a.value); }, Unlocked())
      .def_property_readonly("num_rows", [](const M& a) { return a.value.rows(); })
      .def_property_readonly("num_columns", [](const M& a) { return a.value.cols(); });
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
      .def("solve", &S::Solve, Unlocked());
}

template <typename T>
py::tuple ConjugateGradients(const Matrix<T>& a, const DenseVector<T>& b,
                             const DenseVector<T>& guess, int max_iterations, double tolerance) {
  ConjugateGradientResult<T> result;
  {
    const py::gil_scoped_release unlocked;
    result = SolveByConjugateGradients(a.value, b, guess, max_iterations, tolerance);
  }
  return py::make_tuple(result.x, result.iterations, result.error, result.converged);
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
