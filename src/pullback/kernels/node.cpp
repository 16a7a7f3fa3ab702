// One autograd node for all Functions that kernels serve: what `node.py` does for a call, without Python between.
//
// A Way stands before the Python way into a Function. It looks a call up by dtypes, sizes and strides; what it does
// not know, or must not touch (modes, transforms, subclasses), goes on to Python, which may teach it the call.
// A Recipe is what Python knows about one pair of kernels; a Layout is how operands of certain sizes are visited.

#include <Python.h>
#include <structmember.h>

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_cpp_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>
#include <torch/csrc/utils/python_tuples.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace {

using namespace torch::autograd;
using at::Tensor;
using Kernel = int (*)(int64_t n, const int64_t* geometry, void* pool, int threads, void* const* p, const double* h);
using Key = std::vector<int64_t>;
using Tensors = c10::SmallVector<Tensor, 4>;
using Numbers = c10::SmallVector<double, 2>;

constexpr int64_t HOLDS_GIL = 4096;  // elements up to which letting others run would take longer than the kernel
constexpr size_t MOST_KNOWN = 1024;  // combinations of sizes and strides that are remembered
constexpr int NAMES = 96;            // Functions whose node has a type of its own

uint64_t plain_keys, inference_keys;
std::atomic<bool> forked{false};

struct Hash {
  size_t operator()(const Key& key) const {
    uint64_t h = 1469598103934665603u;
    for (int64_t word : key) h = (h ^ static_cast<uint64_t>(word)) * 1099511628211u;
    return h;
  }
};

struct GIL {
  PyGILState_STATE state = PyGILState_Ensure();
  ~GIL() { PyGILState_Release(state); }
};

// ---- reading what Python says

struct Made {
  Key sizes, strides;
  int64_t count;
};

struct Layout {
  int64_t n = 0;
  Key words;  // the geometry; empty if everything is contiguous
  std::vector<Made> outputs;
  std::vector<Key> shapes;  // of the arguments
};

Key integers(PyObject* sequence) {
  THPObjectPtr fast(PySequence_Fast(sequence, "a sequence"));
  if (!fast) throw python_error();
  Key found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
    found.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(fast.get(), i)));
    if (found.back() == -1 && PyErr_Occurred()) throw python_error();
  }
  return found;
}

std::vector<at::ScalarType> types(PyObject* sequence) {
  THPObjectPtr fast(PySequence_Fast(sequence, "a sequence"));
  if (!fast) throw python_error();
  std::vector<at::ScalarType> found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    found.push_back(THPDtype_Check(item) ? reinterpret_cast<THPDtype*>(item)->scalar_type : at::ScalarType::Undefined);
  }
  return found;
}

// From a tuple (n, geometry as bytes, outputs as pairs of sizes and strides).
std::shared_ptr<Layout> layout_of(PyObject* told) {
  PyObject *geometry, *outputs;
  long long n;
  auto made = std::make_shared<Layout>();
  if (!PyArg_ParseTuple(told, "LSO!", &n, &geometry, &PyTuple_Type, &outputs)) throw python_error();
  made->n = n;
  made->words.resize(PyBytes_GET_SIZE(geometry) / sizeof(int64_t));
  std::memcpy(made->words.data(), PyBytes_AS_STRING(geometry), made->words.size() * sizeof(int64_t));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) {
    PyObject* pair = PyTuple_GET_ITEM(outputs, i);
    Made one{integers(PyTuple_GetItem(pair, 0)), integers(PyTuple_GetItem(pair, 1)), 1};
    for (int64_t size : one.sizes) one.count *= size;
    made->outputs.push_back(std::move(one));
  }
  return made;
}

// ---- a pair of kernels

struct Recipe {
  PyObject_HEAD
  std::string name;
  int slot;
  Kernel forward, backward;
  void* pool;
  int64_t chunk, large;
  size_t results;                      // outputs of forward that callers see: the first ones
  int alone;                           // whether callers see the one as it is, not in a tuple
  Key operands;                        // of forward: which argument each is
  Key numbers;                         // the places of floats among the values of a call
  Key forward_numbers, backward_numbers;  // which of them each kernel takes
  Key residuals;                       // an argument; or -1 - k, an output of forward
  Key contiguous, contiguous_back;     // the operands that are laid out anew first
  Key needed;                          // the arguments that get a gradient
  std::vector<at::ScalarType> outputs, gradients, cotangents;  // Undefined for a gradient of zero
  Key fixed_at;
  PyObject *fixed, *outside, *guard, *again, *layout, *allocate;
  std::mutex lock;
  std::unordered_map<Key, std::shared_ptr<Layout>, Hash> layouts;  // of backward

  bool is_result(int64_t residual) const { return residual < 0 && residual >= -static_cast<int64_t>(results); }
};

// References that nodes let go of without holding the GIL.
std::mutex pending_lock;
std::vector<PyObject*> pending;
std::atomic<bool> any_pending{false};

void let_go(PyObject* object) {
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  std::lock_guard<std::mutex> lock(pending_lock);
  pending.push_back(object);
  any_pending = true;
}

void drain() {
  std::vector<PyObject*> mine;
  {
    std::lock_guard<std::mutex> lock(pending_lock);
    mine.swap(pending);
    any_pending = false;
  }
  for (PyObject* object : mine) Py_DECREF(object);
}

PyObject* wrapped(const Tensors& tensors) {
  PyObject* found = PyTuple_New(tensors.size());
  for (size_t i = 0; i < tensors.size(); i++) PyTuple_SET_ITEM(found, i, THPVariable_Wrap(tensors[i]));
  return found;
}

[[noreturn]] void throw_python() {
  python_error error;
  error.persist();
  throw error;
}

bool plain(const Tensor& t) {
  uint64_t keys = t.unsafeGetTensorImpl()->key_set().raw_repr();
  return keys == plain_keys || keys == inference_keys;
}

void append(Key& key, const Tensor& t) {
  key.push_back(t.dim());
  key.insert(key.end(), t.sizes().begin(), t.sizes().end());
  key.insert(key.end(), t.strides().begin(), t.strides().end());
}

Tensor fresh(const Recipe* recipe, const Made& made, at::ScalarType type) {
  if (made.count * static_cast<int64_t>(c10::elementSize(type)) >= recipe->large) {
    GIL gil;
    THPObjectPtr sizes(THPUtils_packInt64Array(made.sizes.size(), made.sizes.data()));
    THPObjectPtr strides(THPUtils_packInt64Array(made.strides.size(), made.strides.data()));
    PyObject* dtype = reinterpret_cast<PyObject*>(torch::getTHPDtype(type));
    THPObjectPtr found(PyObject_CallFunctionObjArgs(recipe->allocate, sizes.get(), strides.get(), dtype, nullptr));
    if (!found) throw_python();
    return THPVariable_Unpack(found.get());
  }
  return at::detail::empty_strided_cpu(made.sizes, made.strides, type);
}

// Whether the kernel has run: it has not where a tensor has no memory.
bool run(const Recipe* recipe, Kernel kernel, const Layout& at, Tensors& in, Tensors& out, const Key& which,
         const Numbers& numbers, bool gil) {
  c10::SmallVector<void*, 12> pointers;
  c10::SmallVector<double, 4> taken;
  for (Tensor& t : in) pointers.push_back(const_cast<void*>(t.const_data_ptr()));
  for (Tensor& t : out)
    if (t.defined()) pointers.push_back(t.data_ptr());
  for (int64_t k : which) taken.push_back(numbers[k]);
  const int64_t* geometry = at.words.empty() ? nullptr : at.words.data();
  int threads = at.n <= recipe->chunk || forked ? 1 : at::get_num_threads();
  PyThreadState* state = gil && at.n > HOLDS_GIL ? PyEval_SaveThread() : nullptr;
  int status = kernel(at.n, geometry, recipe->pool, threads, pointers.data(), taken.data());
  if (state) PyEval_RestoreThread(state);
  return status == 0;
}

// ---- the node

// What backward needs beside tensors: copied where the compiler of whole backward passes binds it into its graph.
struct Work {
  Recipe* recipe = nullptr;
  std::shared_ptr<const Layout> made;
  Numbers numbers;

  Work() = default;
  Work(const Work& other) : recipe(other.recipe), made(other.made), numbers(other.numbers) {
    GIL gil;
    Py_INCREF(reinterpret_cast<PyObject*>(recipe));
  }
  Work& operator=(const Work&) = delete;
  ~Work() {
    if (recipe) let_go(reinterpret_cast<PyObject*>(recipe));
  }

  // The gradients of the arguments, from what was kept.
  variable_list gradients(Tensors in, const variable_list& cotangents) const {
    bool none = true;
    for (const Tensor& g : cotangents) none &= !g.defined();
    if (none) return variable_list(made->shapes.size());
    for (size_t i = 0; i < cotangents.size(); i++)
      in.push_back(cotangents[i].defined() ? cotangents[i] : fresh(recipe, made->outputs[i], recipe->outputs[i]).zero_());
    if (!suits(in)) return again(in);
    for (int64_t k : recipe->contiguous_back) in[k] = in[k].contiguous();
    std::shared_ptr<Layout> at = layout(in);
    if (!at) return again(in);
    Tensors out;
    for (size_t j = 0, k = 0; j < recipe->needed.size(); j++) {
      bool zero = recipe->gradients[j] == at::ScalarType::Undefined;
      out.push_back(zero ? Tensor() : fresh(recipe, at->outputs[k++], recipe->gradients[j]));
    }
    if (!run(recipe, recipe->backward, *at, in, out, recipe->backward_numbers, numbers, false)) return again(in);
    variable_list found(made->shapes.size());
    for (size_t j = 0; j < out.size(); j++) {
      const Key& shape = made->shapes[recipe->needed[j]];
      if (out[j].defined() && out[j].sizes() != c10::IntArrayRef(shape)) out[j] = out[j].view(shape);
      found[recipe->needed[j]] = std::move(out[j]);
    }
    return found;
  }

  // Whether the kernel may compute this gradient: not if it is recorded, or given what only PyTorch can take.
  bool suits(const Tensors& in) const {
    if (at::GradMode::is_enabled()) return false;
    for (size_t i = 0; i < recipe->results; i++)
      if (in[in.size() - recipe->results + i].scalar_type() != recipe->cotangents[i]) return false;
    constexpr auto odd = c10::python_ks | c10::DispatchKeySet({c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
        c10::DispatchKey::Functionalize, c10::DispatchKey::PythonDispatcher});
    if (!(c10::impl::tls_local_dispatch_key_set().included_ & odd).empty()) return false;
    for (const Tensor& t : in)
      if (!t.defined() || !plain(t)) return false;
    return true;
  }

  std::shared_ptr<Layout> layout(const Tensors& in) const {
    static thread_local Key key;
    key.clear();
    for (const Tensor& t : in) append(key, t);
    {
      std::lock_guard<std::mutex> lock(recipe->lock);
      auto found = recipe->layouts.find(key);
      if (found != recipe->layouts.end()) return found->second;
    }
    GIL gil;
    THPObjectPtr tensors(wrapped(in));
    THPObjectPtr told(PyObject_CallOneArg(recipe->layout, tensors.get()));
    if (!told) throw_python();
    std::shared_ptr<Layout> made = told.get() == Py_None ? nullptr : layout_of(told.get());
    std::lock_guard<std::mutex> lock(recipe->lock);
    if (recipe->layouts.size() >= MOST_KNOWN) recipe->layouts.clear();
    return recipe->layouts[key] = made;
  }

  // In PyTorch's operations: a second derivative, a cotangent or a saved tensor that no kernel takes.
  variable_list again(const Tensors& in) const {
    GIL gil;
    THPObjectPtr tensors(wrapped(in)), shapes(PyTuple_New(made->shapes.size())), floats(PyTuple_New(numbers.size()));
    for (size_t i = 0; i < made->shapes.size(); i++)
      PyTuple_SET_ITEM(shapes.get(), i, THPUtils_packInt64Array(made->shapes[i].size(), made->shapes[i].data()));
    for (size_t i = 0; i < numbers.size(); i++) PyTuple_SET_ITEM(floats.get(), i, PyFloat_FromDouble(numbers[i]));
    THPObjectPtr results(
        PyObject_CallFunctionObjArgs(recipe->again, tensors.get(), shapes.get(), floats.get(), nullptr));
    if (!results) throw_python();
    variable_list found(made->shapes.size());
    for (size_t j = 0; j < recipe->needed.size(); j++) {
      PyObject* one = PyTuple_GetItem(results.get(), j);
      if (one && one != Py_None) found[recipe->needed[j]] = THPVariable_Unpack(one);
    }
    return found;
  }
};

struct Gradient : Node {
  Work work;
  c10::SmallVector<SavedVariable, 2> saved;

  std::string name() const override { return work.recipe->name + "Backward"; }

  void release_variables() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (SavedVariable& s : saved) s.reset_data();
  }

  Tensors unpacked() {
    std::lock_guard<std::mutex> lock(mutex_);
    Tensors found;
    for (SavedVariable& s : saved) found.push_back(s.unpack(getptr()));
    return found;
  }

  variable_list apply(variable_list&& cotangents) override {
    return work.gradients(unpacked(), cotangents);
  }

  // For the compiler of whole backward passes, to which this node is an operation that it does not look into.
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
    args.collect(reinterpret_cast<int64_t>(work.recipe));
    for (double number : work.numbers) args.collect(number);
    for (const Key& shape : work.made->shapes)
      for (int64_t size : shape) args.collect(size);
    for (size_t i = 0; i < saved.size(); i++) args.collect(saved[i], work.recipe->is_result(work.recipe->residuals[i]));
  }

  variable_list apply_with_saved(const variable_list& cotangents,
                                 torch::dynamo::autograd::SwapSavedVariables& swapped) override {
    using namespace torch::dynamo::autograd;
    std::vector<at::IValue> kept;
    for (SavedVariable& s : saved) swapped.before(s);
    for (SavedVariable& s : saved) kept.emplace_back(s.unpack(getptr()));
    for (SavedVariable& s : saved) swapped.after(s);
    auto run = [work = Work(work)](const variable_list& g, const std::vector<at::IValue>& values) {
      Tensors in;
      for (const at::IValue& value : values) in.push_back(value.toTensor());
      return work.gradients(std::move(in), g);
    };
    const auto& compiler = getPyCompilerInterface();
    std::vector<at::TypePtr> schema(kept.size(), at::TensorType::get());
    auto outputs = IValuePacker<std::vector<std::optional<InputMetadata>>>::pack(get_input_metadata(next_edges()));
    std::string bound = compiler->bind_function(swapped.get_py_compiler(), name(), run, schema, true, false);
    return compiler->call_function(swapped.get_py_compiler(), "apply_functional", bound, cotangents, kept, outputs);
  }
};

// Up to torch 2.12 nodes were held by shared_ptr.
template <class T>
auto node() {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, T>)
    return c10::make_intrusive<T>();
  else
    return std::shared_ptr<T>(new T(), [](T* p) { deleteNode(p); });
}

// Python names the type of a node by its type in C++: each Function takes one of these.
template <int N>
struct Named final : Gradient {};

using Pointer = decltype(std::declval<Node&>().getptr());
using Maker = Pointer (*)();

template <int... N>
constexpr std::array<Maker, sizeof...(N)> makers(std::integer_sequence<int, N...>) {
  return {[]() -> Pointer { return node<Named<N>>(); }...};
}

template <int... N>
std::array<const std::type_info*, sizeof...(N)> infos(std::integer_sequence<int, N...>) {
  return {&typeid(Named<N>)...};
}

constexpr auto MAKERS = makers(std::make_integer_sequence<int, NAMES>());

PyObject* saved_tensors(PyObject* self, void*) {
  HANDLE_TH_ERRORS
  auto* gradient = static_cast<Gradient*>(reinterpret_cast<THPCppFunction*>(self)->cdata.get());
  return wrapped(gradient->unpacked());
  END_HANDLE_TH_ERRORS
}

PyGetSetDef properties[] = {THP_FUNCTION_DEFAULT_PROPERTIES,
                            {"saved_tensors", saved_tensors, nullptr, nullptr, nullptr},
                            {nullptr}};
PyMethodDef methods[] = {{"_register_hook_dict", THPCppFunction_register_hook_dict, METH_O, nullptr},
                         {"register_hook", THPCppFunction_register_hook, METH_O, nullptr},
                         {"register_prehook", THPCppFunction_register_prehook, METH_O, nullptr},
                         {"name", THPCppFunction_name, METH_NOARGS, nullptr},
                         {"_sequence_nr", THPCppFunction_sequence_nr, METH_NOARGS, nullptr},
                         {nullptr}};

// The place of a name among the types; all names after the last place share it.
int slot_of(const std::string& name) {
  static std::unordered_map<std::string, int> known;
  static PyTypeObject node_types[NAMES];
  static std::string names[NAMES];
  auto found = known.find(name);
  if (found != known.end()) return found->second;
  int slot = std::min<int>(known.size(), NAMES - 1);
  known[name] = slot;
  if (names[slot].empty()) {
    names[slot] = (slot == NAMES - 1 ? "pullback" : name) + "Backward";
    registerCppFunction(*infos(std::make_integer_sequence<int, NAMES>())[slot],
                        _initFunctionPyTypeObject(node_types[slot], names[slot].c_str(), properties, methods));
  }
  return slot;
}

// ---- Recipe as a Python object

int recipe_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* r = reinterpret_cast<Recipe*>(self);
  Py_VISIT(Py_TYPE(self));
  for (PyObject* held : {r->fixed, r->outside, r->guard, r->again, r->layout, r->allocate}) Py_VISIT(held);
  return 0;
}

int recipe_clear(PyObject* self) {
  auto* r = reinterpret_cast<Recipe*>(self);
  for (PyObject** held : {&r->fixed, &r->outside, &r->guard, &r->again, &r->layout, &r->allocate}) Py_CLEAR(*held);
  return 0;
}

void recipe_free(PyObject* self) {
  PyObject_GC_UnTrack(self);
  recipe_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject head = *self;
  reinterpret_cast<Recipe*>(self)->~Recipe();
  *self = head;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* recipe_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  HANDLE_TH_ERRORS
  static const char* names[] = {"name", "forward", "backward", "pool", "chunk", "large", "operands", "numbers",
      "forward_numbers", "backward_numbers", "residuals", "contiguous", "contiguous_back", "needed", "outputs",
      "gradients", "cotangents", "fixed_at", "fixed", "outside", "guard", "again", "layout", "allocate", "results",
      "alone", nullptr};
  const char* name;
  unsigned long long forward, backward, pool;
  long long chunk, large, results;
  int alone;
  PyObject* o[18];
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "sKKKLLOOOOOOOOOOOOOOOOOOLp", const_cast<char**>(names), &name,
                                   &forward, &backward, &pool, &chunk, &large, &o[0], &o[1], &o[2], &o[3], &o[4],
                                   &o[5], &o[6], &o[7], &o[8], &o[9], &o[10], &o[11], &o[12], &o[13], &o[14], &o[15],
                                   &o[16], &o[17], &results, &alone))
    return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  PyObject head = *self;
  auto* r = new (self) Recipe();
  *self = head;
  PyObject** holders[] = {&r->fixed, &r->outside, &r->guard, &r->again, &r->layout, &r->allocate};
  for (int i = 0; i < 6; i++) *holders[i] = Py_NewRef(o[12 + i]);
  THPObjectPtr owner(self);
  r->name = name;
  r->slot = slot_of(r->name);
  r->forward = reinterpret_cast<Kernel>(forward);
  r->backward = reinterpret_cast<Kernel>(backward);
  r->pool = reinterpret_cast<void*>(pool);
  r->chunk = chunk;
  r->large = large;
  r->results = results;
  r->alone = alone;
  Key* keys[] = {&r->operands, &r->numbers, &r->forward_numbers, &r->backward_numbers, &r->residuals, &r->contiguous,
                 &r->contiguous_back, &r->needed};
  for (int i = 0; i < 8; i++) *keys[i] = integers(o[i]);
  r->outputs = types(o[8]);
  r->gradients = types(o[9]);
  r->cotangents = types(o[10]);
  r->fixed_at = integers(o[11]);
  return owner.release();
  END_HANDLE_TH_ERRORS
}

PyType_Slot recipe_slots[] = {{Py_tp_new, reinterpret_cast<void*>(recipe_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(recipe_free)},
                              {Py_tp_traverse, reinterpret_cast<void*>(recipe_traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(recipe_clear)},
                              {0, nullptr}};
PyType_Spec recipe_spec = {"pullback.Recipe", sizeof(Recipe), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, recipe_slots};

// ---- Way: what stands before a Function

struct Entry {
  Recipe* recipe;  // null: Python serves it
  std::shared_ptr<Layout> layout;
};

struct Way {
  PyObject_HEAD
  vectorcallfunc call;
  PyObject *other, *missing, *held, *outside;
  Py_ssize_t count;
  Key tensors;         // the places of tensors among the values
  uint64_t frozen;     // which of them never get a gradient
  bool counted;        // whether calls under saved-tensor hooks go to Python
  std::unordered_map<Key, std::vector<Entry>, Hash> known;
};

bool same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw python_error();
  return equal;
}

// Whether a call belongs to this recipe, which its sizes alone do not say.
bool fits(const Way* way, const Recipe* r, PyObject* const* values) {
  for (size_t i = 0; i < r->fixed_at.size(); i++)
    if (!same(values[r->fixed_at[i]], PyTuple_GET_ITEM(r->fixed, i))) return false;
  for (int64_t at : r->numbers)
    if (!PyFloat_CheckExact(values[at])) return false;
  if (way->outside != Py_None) {
    THPObjectPtr now(PyObject_CallNoArgs(way->outside));
    if (!now) throw python_error();
    if (!same(now.get(), r->outside)) return false;
  }
  return true;
}

bool guarded(const Recipe* r, PyObject* const* values) {
  if (r->guard == Py_None) return true;
  c10::SmallVector<PyObject*, 4> numbers;
  for (int64_t at : r->numbers) numbers.push_back(values[at]);
  THPObjectPtr held(PyObject_Vectorcall(r->guard, numbers.data(), numbers.size(), nullptr));
  if (!held) throw python_error();
  return PyObject_IsTrue(held.get()) == 1;
}

PyObject* serve(const Way* way, const Entry& entry, PyObject* const* values, bool gradient) {
  Recipe* r = entry.recipe;
  const Layout& at = *entry.layout;
  RECORD_FUNCTION(r->name, c10::ArrayRef<const c10::IValue>{});
  Tensors in, out;
  Numbers numbers;
  for (int64_t k : r->operands) in.push_back(THPVariable_Unpack(values[way->tensors[k]]));
  for (int64_t k : r->contiguous) in[k] = in[k].contiguous();
  for (int64_t k : r->numbers) numbers.push_back(PyFloat_AS_DOUBLE(values[k]));
  for (size_t k = 0; k < r->outputs.size(); k++) out.push_back(fresh(r, at.outputs[k], r->outputs[k]));
  if (!run(r, r->forward, at, in, out, r->forward_numbers, numbers, true)) return nullptr;
  if (gradient) {
    Pointer made = MAKERS[r->slot]();
    auto* own = static_cast<Gradient*>(made.get());
    Py_INCREF(reinterpret_cast<PyObject*>(r));
    own->work.recipe = r;
    own->work.made = entry.layout;
    own->work.numbers = std::move(numbers);
    edge_list edges(way->tensors.size());
    for (int64_t k : r->needed) edges[k] = impl::gradient_edge(THPVariable_Unpack(values[way->tensors[k]]));
    own->set_next_edges(std::move(edges));
    for (size_t i = 0; i < r->results; i++) {
      if (isDifferentiableType(out[i].scalar_type()))
        set_history(out[i], made);
      else
        made->add_input_metadata(Node::undefined_input());
    }
    for (int64_t k : r->residuals) {
      if (k >= 0)
        own->saved.emplace_back(THPVariable_Unpack(values[way->tensors[k]]), false);
      else
        own->saved.emplace_back(out[-1 - k], r->is_result(k));
    }
  }
  out.resize(r->results);
  return r->alone ? THPVariable_Wrap(out[0]) : wrapped(out);
}

bool odd_stack() {
  auto tls = c10::impl::tls_local_dispatch_key_set();
  uint64_t odd = (tls.included_ ^ c10::default_included_set).raw_repr() |
                 (tls.excluded_ ^ c10::default_excluded_set).raw_repr();
  odd &= ~c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView).raw_repr();
  if (odd && c10::InferenceMode::is_enabled()) odd &= ~c10::autograd_dispatch_keyset.raw_repr();
  return odd || at::impl::torch_function_mode_enabled();
}

// The words by which a call is looked up; false where only Python can tell.
bool key_of(const Way* way, PyObject* const* values, Key& key) {
  key.assign(1, 0);
  uint64_t bits = 0;
  bool grad = at::GradMode::is_enabled();
  for (size_t i = 0; i < way->tensors.size(); i++) {
    PyObject* value = values[way->tensors[i]];
    if (!THPVariable_CheckExact(value)) return false;
    const Tensor& t = THPVariable_Unpack(value);
    if (!plain(t)) return false;
    if (grad && t.requires_grad()) bits |= uint64_t(1) << i;
    key.push_back(static_cast<int64_t>(t.scalar_type()));
    append(key, t);
  }
  key[0] = static_cast<int64_t>(bits & ~way->frozen);
  return true;
}

PyObject* way_call(PyObject* self, PyObject* const* values, size_t flags, PyObject* names) {
  HANDLE_TH_ERRORS
  auto* way = reinterpret_cast<Way*>(self);
  PyObject* next = way->other;
  if (any_pending) drain();
  static thread_local Key key;
  if (!names && PyVectorcall_NARGS(flags) == way->count && !PyList_GET_SIZE(way->held) && !odd_stack() &&
      key_of(way, values, key) && !(key[0] && way->counted && at::SavedTensorDefaultHooks::get_hooks(true))) {
    bool gradient = key[0] != 0;
    auto found = way->known.find(key);
    next = way->missing;
    if (found != way->known.end()) {
      for (size_t i = 0; i < found->second.size(); i++) {
        Entry entry = found->second[i];
        if (entry.recipe && !fits(way, entry.recipe, values)) continue;
        next = way->other;
        if (!entry.recipe || !guarded(entry.recipe, values)) break;
        THPObjectPtr alive(Py_NewRef(reinterpret_cast<PyObject*>(entry.recipe)));
        if (PyObject* result = serve(way, entry, values, gradient)) return result;
        break;
      }
    }
  }
  return PyObject_Vectorcall(next, values, flags, names);
  END_HANDLE_TH_ERRORS
}

// learn(values, recipe or None, layout or None, shapes): how calls like one with these values are served.
PyObject* way_learn(PyObject* self, PyObject* args) {
  HANDLE_TH_ERRORS
  auto* way = reinterpret_cast<Way*>(self);
  PyObject *values, *recipe, *told, *shapes;
  if (!PyArg_ParseTuple(args, "O!OOO!", &PyTuple_Type, &values, &recipe, &told, &PyTuple_Type, &shapes)) return nullptr;
  Key key;
  if (!key_of(way, &PyTuple_GET_ITEM(values, 0), key)) Py_RETURN_NONE;
  Entry entry{nullptr, nullptr};
  if (recipe != Py_None) {
    entry.layout = layout_of(told);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shapes); i++)
      entry.layout->shapes.push_back(integers(PyTuple_GET_ITEM(shapes, i)));
    entry.recipe = reinterpret_cast<Recipe*>(Py_NewRef(recipe));
  }
  if (way->known.size() >= MOST_KNOWN) {
    auto old = std::move(way->known);
    way->known.clear();
    for (auto& [_, entries] : old)
      for (Entry& e : entries) Py_XDECREF(reinterpret_cast<PyObject*>(e.recipe));
  }
  way->known[key].push_back(std::move(entry));
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

int way_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* way = reinterpret_cast<Way*>(self);
  Py_VISIT(Py_TYPE(self));
  for (PyObject* held : {way->other, way->missing, way->held, way->outside}) Py_VISIT(held);
  for (auto& [_, entries] : way->known)
    for (Entry& e : entries) Py_VISIT(reinterpret_cast<PyObject*>(e.recipe));
  return 0;
}

int way_clear(PyObject* self) {
  auto* way = reinterpret_cast<Way*>(self);
  auto known = std::move(way->known);
  way->known.clear();
  for (auto& [_, entries] : known)
    for (Entry& e : entries) Py_XDECREF(reinterpret_cast<PyObject*>(e.recipe));
  return 0;  // what a call needs stays: a Way may be called while it is being taken apart
}

void way_free(PyObject* self) {
  PyObject_GC_UnTrack(self);
  way_clear(self);
  auto* way = reinterpret_cast<Way*>(self);
  for (PyObject** held : {&way->other, &way->missing, &way->held, &way->outside}) Py_CLEAR(*held);
  PyTypeObject* type = Py_TYPE(self);
  PyObject head = *self;
  way->~Way();
  *self = head;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* way_new(PyTypeObject* type, PyObject* args, PyObject*) {
  HANDLE_TH_ERRORS
  PyObject *other, *missing, *held, *outside, *tensors;
  Py_ssize_t count;
  unsigned long long frozen;
  int counted;
  if (!PyArg_ParseTuple(args, "OOO!OnOKp", &other, &missing, &PyList_Type, &held, &outside, &count, &tensors, &frozen,
                        &counted))
    return nullptr;
  Key places = integers(tensors);
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  PyObject head = *self;
  auto* way = new (self) Way();
  *self = head;
  way->call = way_call;
  way->other = Py_NewRef(other);
  way->missing = Py_NewRef(missing);
  way->held = Py_NewRef(held);
  way->outside = Py_NewRef(outside);
  way->count = count;
  way->tensors = std::move(places);
  way->frozen = frozen;
  way->counted = counted;
  return self;
  END_HANDLE_TH_ERRORS
}

PyMethodDef way_methods[] = {{"learn", way_learn, METH_VARARGS, nullptr}, {nullptr}};
PyMemberDef way_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Way, call), READONLY, nullptr}, {nullptr}};
PyType_Slot way_slots[] = {{Py_tp_new, reinterpret_cast<void*>(way_new)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(way_free)},
                           {Py_tp_traverse, reinterpret_cast<void*>(way_traverse)},
                           {Py_tp_clear, reinterpret_cast<void*>(way_clear)},
                           {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                           {Py_tp_methods, way_methods},
                           {Py_tp_members, way_members},
                           {0, nullptr}};
PyType_Spec way_spec = {"pullback.Way", sizeof(Way), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, way_slots};

}  // namespace

extern "C" {

// The types (Way, Recipe).
__attribute__((visibility("default"))) PyObject* pb_types() {
  HANDLE_TH_ERRORS
  plain_keys = Tensor(at::detail::empty_cpu({0}, at::kFloat)).key_set().raw_repr();
  {
    c10::InferenceMode guard;
    inference_keys = Tensor(at::detail::empty_cpu({0}, at::kFloat)).key_set().raw_repr();
  }
  return Py_BuildValue("(NN)", PyType_FromSpec(&way_spec), PyType_FromSpec(&recipe_spec));
  END_HANDLE_TH_ERRORS
}

// After a fork the thread pool is gone.
__attribute__((visibility("default"))) void pb_forked() { forked = true; }
}
