/* Mistakes in calls: each is an error that kiln_compile_error() explains. */
#include <kiln/compile.h>
#include <stdio.h>

static const kiln_value_type kF32 = {KILN_F32, 0, 0};

static void tell(const char* what, kiln_status status) {
  printf("%s: %s\n", what, status == KILN_OK ? "no error" : kiln_compile_error());
}

static void finish(const char* what, kiln_trace* trace) {
  kiln_program* program = NULL;
  tell(what, kiln_program_new(trace, "k", &program));
  kiln_program_free(program);
  kiln_trace_free(trace);
}

static kiln_status body(void* program) { return kiln_program_run(program); }

int main(void) {
  kiln_trace* trace = kiln_trace_new();
  kiln_trace_place(trace, "here.py", 3);
  kiln_trace_unary(trace, "frobnicate", kiln_trace_float(trace, 1, KILN_F32), kF32);
  finish("no op", trace);

  trace = kiln_trace_new();
  const kiln_node none = {77};
  kiln_trace_store(trace, none, none);
  finish("no node", trace);

  trace = kiln_trace_new();
  kiln_trace_float(trace, 1, 99);
  finish("no dtype", trace);

  trace = kiln_trace_new();
  kiln_trace_array(trace, kF32, 17);
  finish("axes", trace);

  const uint64_t shape = 4;
  const kiln_value_type nothing = {KILN_NO_DTYPE, 0, 0};
  kiln_dense* field = NULL;
  tell("a field", kiln_dense_new(nothing, &shape, 1, &field));

  trace = kiln_trace_new();
  kiln_program* program = NULL;
  tell("null", kiln_program_new(trace, NULL, &program));
  const kiln_input x = kiln_trace_array(trace, kF32, 1);
  const kiln_node loop = kiln_trace_begin_over(trace, x);
  const kiln_node i = kiln_trace_loop_index(trace, loop, 0);
  kiln_trace_store(trace, kiln_trace_global(trace, x, &i, 1), kiln_trace_float(trace, 1, KILN_F32));
  kiln_trace_end(trace);
  if (kiln_program_new(trace, "k", &program) != KILN_OK) return 1;
  tell("an argument", kiln_program_run(program));
  const kiln_value_type whole = {KILN_I32, 0, 0};
  if (kiln_dense_new(whole, &shape, 1, &field) != KILN_OK) return 1;
  tell("another field", kiln_program_set_field(program, x, field));
  tell("no array", kiln_program_set_field(program, (kiln_input){5}, field));
  int32_t numbers[3];
  tell("beyond", kiln_dense_read(field, 2, 3, numbers));
  tell("nowhere", kiln_dense_read(field, 0, 1, NULL));
  tell("nothing", kiln_dense_write(field, 4, 0, NULL));
  tell("no gradient", kiln_program_run_gradient(program));
  kiln_dense* gradient = NULL;
  tell("whole", kiln_dense_new_with_gradient(whole, &shape, 1, &field, &gradient));
  kiln_tape* tape = kiln_tape_new(0);
  tell("a loss", kiln_tape_run(tape, field, body, program));
  tell("in the body", kiln_tape_record(tape, body, program));
  tell("not recorded", kiln_tape_gradients(tape));
  kiln_tape_free(tape);
  kiln_dense_free(field);
  const kiln_compile_options elsewhere = {.size = sizeof elsewhere, .arch = "metal"};
  tell("an arch", kiln_compile_use(&elsewhere));
  kiln_program_free(program);
  kiln_trace_free(trace);

  trace = kiln_trace_new();
  kiln_trace_begin_over(trace, kiln_trace_array(trace, kF32, 1));
  finish("open", trace);
  return 0;
}
