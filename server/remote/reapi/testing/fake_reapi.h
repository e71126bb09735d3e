// A Remote Execution API server in the test's own process: action cache, storage and
// execution in memory, with the liberties that real servers take, and their faults.
#ifndef KILN_SERVER_REMOTE_REAPI_TESTING_FAKE_REAPI_H_
#define KILN_SERVER_REMOTE_REAPI_TESTING_FAKE_REAPI_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "google/longrunning/operations.grpc.pb.h"
#include "server/remote/reapi/blob.h"

namespace kiln {

class FakeReapi {
 public:
  // What the server is like; to be set before a call that should meet it.
  struct Manner {
    bool update_enabled = true;
    bool refuses_updates = false;  // PERMISSION_DENIED, whatever the capabilities say
    bool zstd = false;
    int64_t batch_bytes = 0;  // 0: not stated
    int64_t blob_bytes = 0;
    std::vector<reapi::DigestFunction::Value> functions{reapi::DigestFunction::SHA256};
    int api_major = 2;
    bool inlines = true;         // small output files come with the result
    bool forgets_blobs = false;  // results stay, blobs are gone
    bool lacks_all = false;      // FindMissingBlobs says so, though it is not true
    bool answers_early = false;  // uploads of what is there are answered at once
    bool corrupts = false;       // one byte of each blob that is read is another
    bool corrupts_zstd = false;  // the frame itself is damaged
    bool cuts_streams = false;   // half of each blob that is read in a stream
    bool hangs = false;          // until the caller gives up
    int failures = 0;            // calls that still fail, with RetryInfo of 10 ms
    std::string token;           // "": anyone may call
    // Of execution.
    bool executes = true;
    bool breaks_streams = false;  // the stream of Execute ends before the operation
    bool loses_inputs = false;    // once: FAILED_PRECONDITION that names missing blobs
    bool sleeps = false;          // operations never end
  };

  // Listens on a free port of the loopback interface. With `credentials`, by TLS.
  explicit FakeReapi(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials());
  ~FakeReapi();

  std::string address() const { return address_; }
  void Behave(Manner manner);
  Manner manner();
  // Calls so far of a method, by its name.
  int calls(const std::string& method);
  // Instance names that came with calls.
  std::set<std::string> instances();
  size_t blobs();
  bool Has(const std::string& hash);
  void Forget(const std::string& hash);
  std::vector<std::string> resources();  // names that ByteStream was asked for
  int executed();                        // commands that were run
  // Ends; calls in progress fail.
  void Stop();

 private:
  struct State;
  struct CacheService;
  struct StorageService;
  struct CapabilitiesService;
  struct StreamService;
  struct ExecutionService;
  struct OperationsService;

  std::unique_ptr<State> state_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_TESTING_FAKE_REAPI_H_
