// A program whose own messages are in files of the names of Kiln's. protobuf ends a process that
// registers two files of one name, before main.
#include "client_cpp/kiln.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "kiln/proto/type.pb.h"
#include "proto/type.pb.h"

namespace {

TEST(OwnMessages, LiveBesideThoseOfTheClient) {
  EXPECT_EQ(application::Type::descriptor()->file()->name(), "proto/type.proto");

  kiln::KernelBuilder builder;
  const kiln::TypeId type = builder.ScalarType(kiln::proto::F32);
  EXPECT_EQ(builder.types().Name(type), "f32");
  EXPECT_EQ(kiln::proto::Type::descriptor()->file()->name(), "kiln/proto/type.proto");
}

}  // namespace
