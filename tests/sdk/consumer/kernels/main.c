#include <kiln/compile.h>
#include <stdio.h>

static int fail(void) {
  fprintf(stderr, "%s\n", kiln_compile_error());
  return 1;
}

int main(void) {
  kiln_trace* trace = kiln_trace_new();
  const kiln_value_type f32 = {KILN_F32, 0, 0};
  const kiln_input x = kiln_trace_array(trace, f32, 1);
  const kiln_node loop = kiln_trace_begin_over(trace, x);
  const kiln_node i = kiln_trace_loop_index(trace, loop, 0);
  const kiln_node one = kiln_trace_float(trace, 1, KILN_F32);
  kiln_trace_store(trace, kiln_trace_global(trace, x, &i, 1), one);
  kiln_trace_end(trace);
  kiln_program* program;
  if (kiln_program_new(trace, "ones", &program) != KILN_OK) return fail();
  kiln_trace_free(trace);
  float data[4] = {0, 0, 0, 0};
  const uint64_t shape = 4;
  kiln_program_set_array(program, x, data, &shape, 1);
  if (kiln_program_run(program) != KILN_OK) return fail();
  kiln_program_free(program);
  printf("ones %g\n", (double)(data[0] + data[1] + data[2] + data[3]));
  return 0;
}
