// Preloaded into a process: counts the system calls that change files, and kills the process at the n-th.
// Every other killed write has written half of its bytes, as a power cut would leave it. What is opened for
// writing, renamed, made or removed is noted, a line each, with the real path of what was opened.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long calls = 0, dies_at = 0;
static int notes = -1;

void kill_at(long number) { calls = 0, dies_at = number; }
long num_calls(void) { return calls; }
void note_to(int fd) { notes = fd; }

static int is_last(void) { return ++calls == dies_at; }
static void touch(void) {
    if (is_last()) kill(getpid(), SIGKILL);
}
static int is_file(int fd) {
    struct stat found;
    return fd > 2 && fd != notes && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}
static void note(const char *how, const char *folder, const char *path) {
    char line[2 * PATH_MAX + 64];
    if (notes < 0) return;
    int size = snprintf(line, sizeof line, "%s %s%s%s\n", how, folder, *folder ? "/" : "", path);
    if (size > 0) syscall(SYS_write, notes, line, (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
}
static void note_descriptor(const char *how, int fd, const char *path) {
    char link[64], real[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = fd < 0 ? -1 : readlink(link, real, sizeof real - 1);
    real[size < 0 ? 0 : size] = 0;
    note(how, real, path);
}
static void note_at(const char *how, int folder, const char *path) {
    char here[PATH_MAX] = "";
    if (*path == '/') note(how, "", path);
    else if (folder != AT_FDCWD) note_descriptor(how, folder, path);
    else note(how, getcwd(here, sizeof here) ? here : "", path);
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

// Calls that change a name, before which the process may die.
#define NAMING(name, folder, path, parameters, arguments) \
    int name parameters {                                 \
        REAL(name);                                       \
        touch();                                          \
        note_at(#name, folder, path);                     \
        return real arguments;                            \
    }
NAMING(truncate, AT_FDCWD, path, (const char *path, off_t size), (path, size))
NAMING(symlink, AT_FDCWD, path, (const char *to, const char *path), (to, path))
NAMING(link, AT_FDCWD, path, (const char *to, const char *path), (to, path))
NAMING(unlink, AT_FDCWD, path, (const char *path), (path))
NAMING(unlinkat, folder, path, (int folder, const char *path, int flags), (folder, path, flags))
NAMING(rmdir, AT_FDCWD, path, (const char *path), (path))
NAMING(mkdir, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
NAMING(chmod, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))

int rename(const char *from, const char *to) {
    REAL(rename);
    touch();
    note_at("rename", AT_FDCWD, from);
    note_at("rename", AT_FDCWD, to);
    return real(from, to);
}

#define CHANGES (O_CREAT | O_TRUNC)
static int noted(int fd, int flags) {
    if (fd >= 0 && flags & (O_WRONLY | O_RDWR | CHANGES)) note_descriptor("open", fd, "");
    return fd;
}
#define MODE(flags)                                     \
    va_list more;                                       \
    va_start(more, flags);                              \
    int mode = flags & O_CREAT ? va_arg(more, int) : 0; \
    va_end(more);                                       \
    if (flags & CHANGES) touch();
#define OPENING(name)                                \
    int name(const char *path, int flags, ...) {     \
        REAL(name);                                  \
        MODE(flags)                                  \
        return noted(real(path, flags, mode), flags); \
    }
#define OPENING_AT(name)                                      \
    int name(int folder, const char *path, int flags, ...) {  \
        REAL(name);                                           \
        MODE(flags)                                           \
        return noted(real(folder, path, flags, mode), flags); \
    }
OPENING(open)
OPENING(open64)
OPENING_AT(openat)
OPENING_AT(openat64)
