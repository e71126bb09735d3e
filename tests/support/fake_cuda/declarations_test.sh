#!/bin/bash
# The driver's types, numbers and signatures are those of the toolkit's cuda.h.
set -eu
header=${CUDA_HOME:-/usr/local/cuda}/include
if [ ! -e "$header/cuda.h" ]; then
  echo "skipped: there is no $header/cuda.h"
  exit 0
fi
g++ -std=c++17 -fsyntax-only -Wall -Werror -DKILN_FAKE_CUDA_TOOLKIT -I"$header" -I. \
  tests/support/fake_cuda/{driver,graphs,kernel_calls,memory_calls,stream_calls}.cc
