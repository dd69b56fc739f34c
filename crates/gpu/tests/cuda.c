// A driver of CUDA without a device, for tests of the calls in `driver/cuda.rs`. Memory is the
// host's, and the kernel runs as plain C. It shows one device, refuses handles that it has not
// returned, and requires a current context.
#include "../src/emulate.c"
#include <pthread.h>
#include <string.h>

enum { SUCCESS, INVALID = 1, UNKNOWN = 999, CONTEXT = 0x11, STREAM = 0x22, MODULE = 0x33, HANDLE = 0x100 };
enum { CLOCK = 13, MULTIPROCESSORS = 16, SHARED_OF_GROUP = 97, MOST_SHARED = 8 };
enum { BUFFERS = 5 };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int initialised, retained;
static unsigned most_shared = 48 << 10;
static __thread int is_current;

#define REQUIRE(condition) \
    if (!(condition)) return INVALID

int cuInit(unsigned flags) {
    initialised = 1;
    return flags ? INVALID : SUCCESS;
}
int cuDriverGetVersion(int *version) {
    *version = 12040;
    return SUCCESS;
}
int cuDeviceGetCount(int *count) {
    REQUIRE(initialised);
    *count = 1;
    return SUCCESS;
}
int cuDeviceGet(int *device, int ordinal) {
    REQUIRE(initialised && ordinal == 0);
    *device = 7;
    return SUCCESS;
}
int cuDeviceGetName(char *name, int len, int device) {
    REQUIRE(device == 7);
    strncpy(name, "plain C", len);
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    REQUIRE(device == 7);
    *bytes = (size_t)1 << 30;
    return SUCCESS;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    REQUIRE(device == 7);
    REQUIRE(attribute == MULTIPROCESSORS || attribute == CLOCK || attribute == SHARED_OF_GROUP);
    *value = attribute == CLOCK ? 1980000 : attribute == SHARED_OF_GROUP ? 232448 : 2;
    return SUCCESS;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return device == 7 && flags ? SUCCESS : INVALID; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
    REQUIRE(device == 7);
    retained++;
    *context = (void *)CONTEXT;
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    REQUIRE(device == 7 && retained > 0);
    retained--;
    return SUCCESS;
}
int cuCtxSetCurrent(void *context) {
    REQUIRE(context == (void *)CONTEXT && retained > 0);
    is_current = 1;
    return SUCCESS;
}
int cuStreamCreate(void **stream, unsigned flags) {
    REQUIRE(is_current);
    *stream = (void *)STREAM;
    return SUCCESS;
}
int cuStreamSynchronize(void *stream) { return is_current && stream == (void *)STREAM ? SUCCESS : INVALID; }
int cuStreamDestroy_v2(void *stream) { return is_current && stream == (void *)STREAM ? SUCCESS : INVALID; }
int cuModuleLoadData(void **module, const void *image) {
    REQUIRE(is_current && strstr(image, ".version 8.0") && strstr(image, ".target sm_70"));
    *module = (void *)MODULE;
    return SUCCESS;
}
int cuModuleUnload(void *module) { return is_current && module == (void *)MODULE ? SUCCESS : INVALID; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    REQUIRE(is_current && module == (void *)MODULE && strcmp(name, "count_split") == 0);
    *function = (void *)HANDLE;
    return SUCCESS;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    REQUIRE(is_current && function == (void *)HANDLE && attribute == MOST_SHARED);
    most_shared = value;
    return SUCCESS;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    REQUIRE(is_current);
    *pointer = (uintptr_t)malloc(bytes);
    return SUCCESS;
}
int cuMemFree_v2(uint64_t pointer) {
    REQUIRE(is_current);
    free((void *)pointer);
    return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    REQUIRE(is_current && stream == (void *)STREAM);
    memcpy((void *)to, from, bytes);
    return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    REQUIRE(is_current && bytes && stream == (void *)STREAM);
    memcpy(to, (void *)from, bytes);
    return SUCCESS;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
    REQUIRE(is_current && stream == (void *)STREAM);
    memset((void *)to, value, bytes);
    return SUCCESS;
}
int cuGetErrorString(int error, const char **text) {
    *text = error == INVALID ? "invalid argument" : "unknown error";
    return SUCCESS;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra) {
    REQUIRE(is_current && stream == (void *)STREAM && function == (void *)HANDLE && threads == THREADS);
    REQUIRE(x && y == 1 && z == 1 && threads_y == 1 && threads_z == 1 && shared <= most_shared && !extra);
    // A parameter is a pointer to a buffer, or the task itself.
    void *values[BUFFERS + 1];
    for (int i = 0; i < BUFFERS; i++) values[i] = *(void **)parameters[i];
    values[BUFFERS] = parameters[BUFFERS];
    pthread_mutex_lock(&one_at_a_time);
    int failed = launch(x, values);
    pthread_mutex_unlock(&one_at_a_time);
    return failed ? UNKNOWN : SUCCESS;
}
