// Preloaded into a process: counts the system calls that change files, and kills the process at the n-th.
// Every other killed write has written half of its bytes, as a power cut would leave it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls = 0, dies_at = 0;

void kill_at(long number) { calls = 0, dies_at = number; }
long num_calls(void) { return calls; }

static int is_last(void) { return ++calls == dies_at; }
static void touch(void) {
    if (is_last()) kill(getpid(), SIGKILL);
}
static int is_file(int fd) {
    struct stat found;
    return fd > 2 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}
#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *buffer, size_t size) {
    REAL(write);
    if (is_file(fd) && is_last()) {
        if (calls % 2) real(fd, buffer, size / 2);
        kill(getpid(), SIGKILL);
    }
    return real(fd, buffer, size);
}
ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t at) {
    REAL(pwrite64);
    if (is_file(fd)) touch();
    return real(fd, buffer, size, at);
}
ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(writev);
    if (is_file(fd)) touch();
    return real(fd, parts, number);
}
int fsync(int fd) { REAL(fsync); touch(); return real(fd); }
int ftruncate(int fd, off_t size) { REAL(ftruncate); touch(); return real(fd, size); }
int ftruncate64(int fd, off64_t size) { REAL(ftruncate64); touch(); return real(fd, size); }
int rename(const char *from, const char *to) { REAL(rename); touch(); return real(from, to); }
int symlink(const char *to, const char *at) { REAL(symlink); touch(); return real(to, at); }
int unlink(const char *path) { REAL(unlink); touch(); return real(path); }
int unlinkat(int fd, const char *path, int flags) { REAL(unlinkat); touch(); return real(fd, path, flags); }
int rmdir(const char *path) { REAL(rmdir); touch(); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); touch(); return real(path, mode); }

#define OPENING(name)                                   \
    int name(const char *path, int flags, ...) {        \
        REAL(name);                                     \
        va_list more;                                   \
        va_start(more, flags);                          \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0; \
        va_end(more);                                   \
        if (flags & (O_CREAT | O_TRUNC)) touch();       \
        return real(path, flags, mode);                 \
    }
OPENING(open)
OPENING(open64)
