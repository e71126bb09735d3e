// A Python module `exchanged_tensor` with a type that gives its tensors as PyTorch's does, by
// DLPack's exchange functions, without a device's library. For launch_cuda.py.
//
//     Tensor(address, count, device_type, kept): `count` floats at an address of the device
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
  void* data;
  int32_t device_type, device;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DlTensor;

typedef struct {
  uint32_t major, minor;
  void* previous;
  void *allocate, *from_object, *to_object;
  int (*view)(void* object, DlTensor* tensor);
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
} DlExchange;

typedef struct {
  PyObject_HEAD void* data;
  int64_t count, stride;
  int32_t device_type;
  PyObject* kept;
} Tensor;

static int View(void* object, DlTensor* tensor) {
  Tensor* self = object;
  const DlTensor made = {self->data,   self->device_type, 0, 1, 2, 32, 1,
                         &self->count, &self->stride,     0};
  *tensor = made;
  return 0;
}

static int CurrentStream(int32_t device_type, int32_t device, void** stream) {
  (void)device_type, (void)device;
  *stream = NULL;
  return 0;
}

static DlExchange exchange = {1, 2, NULL, NULL, NULL, NULL, View, CurrentStream};

static int Init(PyObject* object, PyObject* args, PyObject* names) {
  (void)names;
  Tensor* self = (Tensor*)object;
  unsigned long long address;
  long long count;
  PyObject* kept;
  if (!PyArg_ParseTuple(args, "KLiO", &address, &count, &self->device_type, &kept)) return -1;
  self->data = (void*)(uintptr_t)address;
  self->count = count;
  self->stride = 1;
  Py_INCREF(kept);
  Py_XSETREF(self->kept, kept);
  return 0;
}

static void Dealloc(PyObject* object) {
  Py_XDECREF(((Tensor*)object)->kept);
  Py_TYPE(object)->tp_free(object);
}

static PyObject* False(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  Py_RETURN_FALSE;
}
static PyObject* GetFalse(PyObject* self, void* unused) { return False(self, unused); }

// What Kiln looks at in tensors of PyTorch.
static PyMethodDef methods[] = {{"is_neg", False, METH_NOARGS, NULL},
                                {"detach", False, METH_NOARGS, NULL},
                                {"__dlpack__", False, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef attributes[] = {{"requires_grad", GetFalse, NULL, NULL, NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "exchanged_tensor.Tensor",
                            .tp_basicsize = sizeof(Tensor),
                            .tp_flags = Py_TPFLAGS_DEFAULT,
                            .tp_new = PyType_GenericNew,
                            .tp_init = Init,
                            .tp_dealloc = Dealloc,
                            .tp_methods = methods,
                            .tp_getset = attributes};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "exchanged_tensor", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_exchanged_tensor(void) {
  if (PyType_Ready(&type) < 0) return NULL;
  PyObject* capsule = PyCapsule_New(&exchange, "dlpack_exchange_api", NULL);
  PyObject* made = PyModule_Create(&module);
  if (capsule == NULL || made == NULL ||
      PyDict_SetItemString(type.tp_dict, "__dlpack_c_exchange_api__", capsule) < 0) {
    return NULL;
  }
  Py_DECREF(capsule);
  PyType_Modified(&type);
  Py_INCREF(&type);
  return PyModule_AddObject(made, "Tensor", (PyObject*)&type) < 0 ? NULL : made;
}
