// Sparse matrices over Eigen: made from triplets, combined, written to files.
//
// Indices are checked by the callers: Eigen asserts, and we have no errors to give.
// Functions are safe to call from several threads on different matrices, and on one
// matrix as long as nobody changes it.
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

// The whole matrix, a row a line, four digits a number.
template <typename T>
std::string ToText(const SparseMatrix<T>& matrix);

// The matrix in the Matrix Market format; numbers read back as they are.
template <typename T>
std::string ToMatrixMarket(const SparseMatrix<T>& matrix);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LINALG_SPARSE_MATRIX_H_
