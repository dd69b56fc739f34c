/* Preloaded into a coordinator by `tests/kills.rs`: before a sector of the file LOSSY_FILE or of its
 * log is written or cut off, its old content goes into FILE.undo, which is emptied when the file was
 * synced. A record has the offset, the old length of the file, the number of bytes, and the bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512
#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* The name of the undo file of this open file, if it has one. */
static int is_kept(int file, char undo[4096]) {
    const char *kept = getenv("LOSSY_FILE");
    char link[64], path[3000];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!kept || length < 0) return 0;
    path[length] = 0;
    snprintf(undo, 4096, "%s.undo", path);
    size_t start = strlen(kept);
    return !strncmp(path, kept, start) && (!path[start] || !strcmp(path + start, "-wal"));
}

static void keep(int file, int64_t start, int64_t end) {
    char undo[4096];
    struct stat now;
    if (!is_kept(file, undo) || fstat(file, &now)) return;
    if (end < 0 || end > now.st_size) end = now.st_size;
    start -= start % SECTOR;
    end += (SECTOR - end % SECTOR) % SECTOR;
    int64_t head[3] = {start, now.st_size, 0};
    char *record = malloc(sizeof head + (end > start ? end - start : 0));
    if (!record) abort();
    if (end > start) head[2] = pread(file, record + sizeof head, end - start, start);
    memcpy(record, head, sizeof head);
    ssize_t bytes = sizeof head + head[2];
    int out = open(undo, O_WRONLY | O_CREAT | O_APPEND, 0600);
    REAL(write);
    if (out < 0 || head[2] < 0 || real(out, record, bytes) != bytes) abort();
    close(out);
    free(record);
}

static int synced(int file, int result) {
    char undo[4096];
    if (!result && is_kept(file, undo) && truncate(undo, 0) && access(undo, F_OK) == 0) abort();
    return result;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    REAL(pwrite64);
    keep(file, at, at + count);
    return real(file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return pwrite64(file, bytes, count, at);
}

ssize_t write(int file, const void *bytes, size_t count) {
    REAL(write);
    char undo[4096];
    if (is_kept(file, undo)) abort(); /* SQLite never does. */
    return real(file, bytes, count);
}

int ftruncate64(int file, off64_t length) {
    REAL(ftruncate64);
    keep(file, length, -1);
    return real(file, length);
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int fsync(int file) {
    REAL(fsync);
    return synced(file, real(file));
}

int fdatasync(int file) {
    REAL(fdatasync);
    return synced(file, real(file));
}
