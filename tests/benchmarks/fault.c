// Loaded before libc (LD_PRELOAD): at the n-th call that writes below a folder, the process is killed, killed after half
// of the bytes, or the disk fails from then on. `fault_arm` says where, when and how; `fault_count` how many calls there were.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, KILL, TORN, READ_ONLY, FULL };

static char folder[4096];
static long moment = -1, counted = 0;
static char tearable[4096];  // which of the calls counted so far send bytes, of which half can be lost
static int how = NONE;

void fault_arm(const char* below, long at, int kind) {
    strncpy(folder, below, sizeof folder - 1);
    moment = at, counted = 0, how = kind;
}
long fault_count(void) { return counted; }
int fault_tearable(long at) { return tearable[at % 4096]; }

static int below(const char* path) { return folder[0] && strncmp(path, folder, strlen(folder)) == 0; }

static int file_below(int handle) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below(path);
}

static int path_below(int at, const char* path) { return path[0] == '/' ? below(path) : at != AT_FDCWD && file_below(at); }

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Whether the call is to fail; kills where that is asked for, unless the caller wants to tear something first.
static int due(int inside, int* torn) {
    if (!inside) return 0;
    const long now = counted++;
    tearable[now % 4096] = torn != NULL;
    if (how == NONE || now < moment) return 0;
    if (how == READ_ONLY) return errno = EROFS, 1;
    if (how == FULL) return errno = ENOSPC, 1;
    if (now == moment) {
        if (how == TORN && torn) return *torn = 1, 0;
        die();
    }
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int handle, const void* from, size_t size) {
    int torn = 0;
    if (due(file_below(handle), &torn)) return -1;
    if (torn) REAL(write)(handle, from, size / 2), die();
    return REAL(write)(handle, from, size);
}
size_t fwrite(const void* from, size_t size, size_t items, FILE* file) {
    int torn = 0;
    if (due(file_below(fileno(file)), &torn)) return 0;
    if (torn) REAL(fwrite)(from, size, items / 2, file), fflush(file), die();
    return REAL(fwrite)(from, size, items, file);
}

#define PATH(name, inside, parameters, arguments)      \
    int name parameters {                              \
        if (due(inside, NULL)) return -1;              \
        return REAL(name) arguments;                   \
    }
PATH(rename, below(from) || below(to), (const char* from, const char* to), (from, to))
PATH(renameat, path_below(a, from) || path_below(b, to), (int a, const char* from, int b, const char* to), (a, from, b, to))
PATH(mkdir, below(path), (const char* path, mode_t mode), (path, mode))
PATH(mkdirat, path_below(at, path), (int at, const char* path, mode_t mode), (at, path, mode))
PATH(unlink, below(path), (const char* path), (path))
PATH(unlinkat, path_below(at, path), (int at, const char* path, int flags), (at, path, flags))
PATH(rmdir, below(path), (const char* path), (path))
PATH(chmod, below(path), (const char* path, mode_t mode), (path, mode))
PATH(fchmodat, path_below(at, path), (int at, const char* path, mode_t mode, int flags), (at, path, mode, flags))
PATH(fsync, file_below(handle), (int handle), (handle))
PATH(ftruncate64, file_below(handle), (int handle, off64_t size), (handle, size))

static int writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT; }

#define OPEN(name)                                                         \
    int name(const char* path, int flags, ...) {                           \
        va_list rest;                                                      \
        va_start(rest, flags);                                             \
        const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;    \
        va_end(rest);                                                      \
        if (due(writes(flags) && below(path), NULL)) return -1;            \
        return REAL(name)(path, flags, mode);                              \
    }
OPEN(open)
OPEN(open64)
