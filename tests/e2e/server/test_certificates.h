// Real certificates for tests, made by the openssl command.
#ifndef KILN_TESTS_E2E_SERVER_TEST_CERTIFICATES_H_
#define KILN_TESTS_E2E_SERVER_TEST_CERTIFICATES_H_

#include <string>

namespace kiln {

// A certificate authority. Its files NAME.pem and NAME.key are in `dir`, which must exist.
class TestAuthority {
 public:
  TestAuthority(std::string dir, std::string name);

  std::string ca_file() const { return PathOf(name_); }
  // Issues a certificate for `common_name`, localhost and 127.0.0.1, in FILE.pem and FILE.key. If
  // `days` is negative, it has expired. Replaces existing files atomically.
  void Issue(const std::string& file, const std::string& common_name, int days = 2) const;

  std::string PathOf(const std::string& file) const { return dir_ + "/" + file + ".pem"; }
  std::string KeyPathOf(const std::string& file) const { return dir_ + "/" + file + ".key"; }

 private:
  const std::string dir_;
  const std::string name_;
};

}  // namespace kiln

#endif  // KILN_TESTS_E2E_SERVER_TEST_CERTIFICATES_H_
