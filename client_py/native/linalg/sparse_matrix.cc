#include "client_py/native/linalg/sparse_matrix.h"

#include <charconv>
#include <sstream>
#include <vector>

namespace kiln {
namespace {

template <typename Number>
void AppendNumber(Number number, std::string* text) {
  char buffer[64];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), number);
  text->append(buffer, end.ptr);
}

}  // namespace

template <typename T>
SparseMatrix<T> FromTriplets(int32_t num_rows, int32_t num_columns, const int32_t* rows,
                             const int32_t* columns, const T* values, int64_t count) {
  std::vector<Eigen::Triplet<T, int32_t>> triplets;
  triplets.reserve(count);
  for (int64_t i = 0; i < count; ++i) triplets.emplace_back(rows[i], columns[i], values[i]);
  SparseMatrix<T> matrix(num_rows, num_columns);
  matrix.setFromTriplets(triplets.begin(), triplets.end());
  return matrix;
}

template <typename T>
std::string ToText(const SparseMatrix<T>& matrix) {
  const Eigen::IOFormat format(/*precision=*/4, /*flags=*/0, ", ", "\n", "[", "]");
  std::ostringstream out;
  out << Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>(matrix).format(format);
  return out.str();
}

template <typename T>
std::string ToMatrixMarket(const SparseMatrix<T>& matrix) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n%\n";
  const auto append_row = [&](auto first, auto second, auto third) {
    AppendNumber(first, &text);
    text += ' ';
    AppendNumber(second, &text);
    text += ' ';
    AppendNumber(third, &text);
    text += '\n';
  };
  append_row(matrix.rows(), matrix.cols(), matrix.nonZeros());
  for (int column = 0; column < matrix.outerSize(); ++column) {
    for (typename SparseMatrix<T>::InnerIterator it(matrix, column); it; ++it) {
      append_row(it.row() + 1, it.col() + 1, it.value());
    }
  }
  return text;
}

template SparseMatrix<float> FromTriplets(int32_t, int32_t, const int32_t*, const int32_t*,
                                          const float*, int64_t);
template SparseMatrix<double> FromTriplets(int32_t, int32_t, const int32_t*, const int32_t*,
                                           const double*, int64_t);
template std::string ToText(const SparseMatrix<float>&);
template std::string ToText(const SparseMatrix<double>&);
template std::string ToMatrixMarket(const SparseMatrix<float>&);
template std::string ToMatrixMarket(const SparseMatrix<double>&);

}  // namespace kiln
