/*
 * The file under a recording: created, mapped in large pieces, extended chunk by chunk. Every chunk
 * has its disk blocks before it is touched, so that a full disk is an error and not SIGBUS.
 */
#include "capture/session.h"

#include "base/containers/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK ((size_t)PYRO_RECORDING_CHUNK_BYTES)
#define HEADER ((size_t)PYRO_RECORDING_HEADER_BYTES)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Many pages per call, so that file systems use large ones. */
static int fill_with_zeros(int fd, off_t offset, off_t size)
{
    static char zeros[HEADER]; /* never written */
    struct iovec pieces[CHUNK / HEADER];
    while (size > 0) {
        int count = 0;
        for (off_t left = size; left > 0 && count < (int)(CHUNK / HEADER); count++) {
            size_t piece = left < (off_t)HEADER ? (size_t)left : HEADER;
            pieces[count] = (struct iovec){zeros, piece};
            left -= (off_t)piece;
        }
        ssize_t done = pwritev(fd, pieces, count, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : ENOSPC;
        offset += done;
        size -= done;
    }
    return 0;
}

/* Beyond its file size limit a process would get SIGXFSZ. */
static bool is_over_limit(off_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           (rlim_t)end > limit.rlim_cur;
}

/* If the file system cannot reserve space, zeros are written in any case. */
static int reserve(int fd, off_t offset, off_t size, bool fills)
{
    if (is_over_limit(offset + size))
        return EFBIG;
    int result;
    do
        result = fallocate(fd, 0, offset, size) == 0 ? 0 : errno;
    while (result == EINTR);
    if (result == EOPNOTSUPP || result == ENOSYS) {
        result = 0;
        fills = true;
    }
    return result == 0 && fills ? fill_with_zeros(fd, offset, size) : result;
}

/* Faults pages in before a writer touches them; older kernels need one access per page. */
static void prefault(char *chunk)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *first = chunk - (uintptr_t)chunk % page;
    if (madvise(first, (size_t)(chunk - first) + CHUNK, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t offset = 0; offset < CHUNK; offset += page)
        __atomic_fetch_or(&chunk[offset], 0, __ATOMIC_RELAXED);
}

/* Pages that are only reserved would be made one by one on access, which takes 3 times as long. */
int pyro_file_extend(const pyro_session *session, size_t index, char *chunk)
{
    int reason = reserve(session->fd, (off_t)(HEADER + index * CHUNK), (off_t)CHUNK, true);
    if (!reason)
        prefault(chunk);
    return reason;
}

char *pyro_chunk_address(const pyro_session *session, size_t index)
{
    return session->slabs[index / PYRO_SLAB_CHUNKS].chunks + index % PYRO_SLAB_CHUNKS * CHUNK;
}

bool pyro_file_map(pyro_session *session, size_t index)
{
    size_t slab = index / PYRO_SLAB_CHUNKS;
    if (slab < session->slab_count)
        return true;
    if (!pyro_grow(&session->slabs, &session->slab_capacity, slab + 1, sizeof *session->slabs))
        return false;
    /* A page may be larger than the header. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = HEADER + slab * PYRO_SLAB_CHUNKS * CHUNK;
    size_t before = offset % page, size = before + PYRO_SLAB_CHUNKS * CHUNK;
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, session->fd,
                     (off_t)(offset - before));
    if (map == MAP_FAILED)
        return false;
    session->slabs[session->slab_count++] = (pyro_slab){map, size, map + before};
    return true;
}

static int open_named(const char *path, bool overwrite, pyro_error *error)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | (overwrite ? 0 : O_EXCL);
    int fd = open(path, flags, 0666);
    if (fd < 0 && errno == EEXIST)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s already exists", path);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        close(fd);
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "%s is not a regular file", path);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0) {
        int reason = errno;
        if (fd >= 0)
            close(fd);
        return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", path, strerror(reason));
    }
    return fd;
}

/* Opens an unnamed file in a folder; -1 if the folder or its file system does not allow it. */
static int open_unnamed_in(const char *folder)
{
    char path[PATH_MAX];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (snprintf(path, sizeof path, "%s/pyrometer-XXXXXX", folder) >= (int)sizeof path)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int open_unnamed(const char *path, pyro_error *error)
{
    char folder[PATH_MAX] = "";
    const char *slash = path ? strrchr(path, '/') : NULL, *wish = getenv("TMPDIR");
    if (slash && (size_t)(slash - path) < sizeof folder)
        memcpy(folder, path, (size_t)(slash - path));
    const char *const places[] = {wish, "/tmp", folder};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = places[i] && places[i][0] ? open_unnamed_in(places[i]) : -1;
        /* A folder without space is useless. */
        if (fd >= 0 && reserve(fd, 0, (off_t)(HEADER + 8 * CHUNK), false) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    int fd = memfd_create("pyrometer", MFD_CLOEXEC);
    return fd >= 0 ? fd
                   : pyro_fail(error, PYRO_ERROR_IO, "cannot create a temporary file: %s",
                               strerror(errno));
}

static int map_header(pyro_session *session)
{
    int reason = reserve(session->fd, 0, (off_t)HEADER, false);
    if (reason)
        return reason;
    session->header_bytes = (size_t)sysconf(_SC_PAGESIZE);
    session->header = mmap(NULL, session->header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                           session->fd, 0);
    if (session->header != MAP_FAILED)
        return 0;
    session->header = NULL;
    return errno;
}

int pyro_file_open(pyro_session *session, const char *path, bool overwrite, pyro_error *error)
{
    bool unnamed = session->options.temporary;
    int fd = unnamed ? open_unnamed(path, error) : open_named(path, overwrite, error);
    if (fd < 0)
        return fd;
    session->fd = fd;
    int reason = map_header(session);
    if (!reason && !pyro_file_map(session, 0))
        reason = errno;
    /* The first chunk too, so that a full disk is reported at the start. */
    if (!reason)
        reason = pyro_file_extend(session, 0, pyro_chunk_address(session, 0));
    if (!reason)
        return PYRO_OK;
    pyro_file_close(session, false);
    if (!unnamed)
        unlink(path);
    return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", unnamed ? "temporary file" : path,
                     strerror(reason));
}

void pyro_file_close(pyro_session *session, bool keep_contents)
{
    for (size_t i = 0; i < session->slab_count; i++)
        munmap(session->slabs[i].map, session->slabs[i].map_bytes);
    if (session->header)
        munmap(session->header, session->header_bytes);
    /* Unused chunks are at the end. */
    size_t used = session->slot_count;
    while (used > 0 && session->slots[used - 1].sequence == 0)
        used--;
    if (keep_contents && session->fd >= 0 &&
        ftruncate(session->fd, (off_t)(HEADER + used * CHUNK)) != 0)
        errno = 0; /* the file is then longer than necessary */
    if (session->fd >= 0)
        close(session->fd);
    free(session->slabs);
    free(session->slots);
    session->slabs = NULL;
    session->slots = NULL;
    session->slab_count = session->slab_capacity = session->slot_count = session->slot_capacity = 0;
    session->header = NULL;
    session->fd = -1;
}
