// Sparse matrices over Eigen: making them from triplets, arithmetic, writing them to files.
//
// Callers check indices; here an invalid one would fail Eigen's assertions.
// Thread safety: several threads may use different matrices, and the same matrix as long as no
// thread changes it.
#ifndef KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_MATRIX_H_
#define KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_MATRIX_H_

#include <Eigen/SparseCore>
#include <cstdint>
#include <string>

namespace kiln {

template <typename T>
using SparseMatrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int32_t>;
template <typename T>
using DenseVector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// The matrix whose element (rows[i], columns[i]) is the sum of all such values[i].
template <typename T>
SparseMatrix<T> FromTriplets(int32_t num_rows, int32_t num_columns, const int32_t* rows,
                             const int32_t* columns, const T* values, int64_t count);

// Prints the whole matrix, one row per line, with four digits per number.
template <typename T>
std::string ToText(const SparseMatrix<T>& matrix);

// Writes the matrix in the Matrix Market format. Reading the file yields exactly the same numbers.
template <typename T>
std::string ToMatrixMarket(const SparseMatrix<T>& matrix);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_MATRIX_H_
