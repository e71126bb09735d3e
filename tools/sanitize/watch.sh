#!/bin/bash
# Runs a test of a sanitizer's build (.bazelrc) and fails if the sanitizer reports an error in any of
# its processes: daemons have no standard error, and their exit status is not checked.
reports=$(mktemp -d "$TEST_TMPDIR/sanitizer-XXXXXX")
chmod 777 "$reports"  # some tests' processes are another user's
for sanitizer in ASAN TSAN UBSAN; do
  options=${sanitizer}_OPTIONS
  export "$options=${!options:+${!options}:}log_path=$reports/found"
done
known=$(cd "$(dirname "$0")" && pwd)/leaks.txt
export LSAN_OPTIONS=suppressions=$known:print_suppressions=0
"$@"
status=$?
for report in "$reports"/found.*; do
  # If a process was killed during its search for leaks, its report contains no error.
  grep -qsE 'Sanitizer|runtime error:' "$report" || continue
  echo "== $(basename "$report")"
  cat "$report"
  status=66
done
exit $status
