/* Tests of opening models: formats recognized by content; truncated and damaged archives. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "fail_alloc.h"
#include "unit.h"
#include <dirent.h>
#include <pyrometer/pyrometer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static const char *file_path(const char *name)
{
    static char path[4096];
    const char *folder = getenv("PYRO_TEST_FILES");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "tests/files", name);
    return path;
}

static bytes read_file(const char *name)
{
    bytes out = {NULL, 0};
    FILE *file = fopen(file_path(name), "rb");
    if (!file)
        fail_msg("%s is missing", file_path(name));
    fseek(file, 0, SEEK_END);
    out.size = (size_t)ftell(file);
    rewind(file);
    out.data = malloc(out.size + 1);
    assert_int_equal(fread(out.data, 1, out.size, file), out.size);
    fclose(file);
    return out;
}

/* The MACs of a model, or the negative status of a failure, which must come with its reason. */
static int64_t macs_of(pyro_model *model, pyro_error *error)
{
    pyro_cost *cost;
    int status = pyro_cost_compute(&cost, model, NULL, error);
    if (status < 0)
        return status;
    int64_t macs = pyro_cost_total(cost)->work.macs;
    pyro_cost_free(cost);
    return macs;
}

static int64_t open_spec(const char *spec, pyro_error *error)
{
    pyro_model *model;
    pyro_error_clear(error);
    int status = pyro_model_open(&model, spec, error);
    int64_t macs = status < 0 ? status : macs_of(model, error);
    if (status == PYRO_OK)
        pyro_model_close(model);
    if (macs < 0 && (error->code != macs || !error->message[0] || !error->where[0]))
        fail_msg("%s: %lld, '%s', '%s'", spec, (long long)macs, error->where, error->message);
    return macs;
}

static int64_t open_bytes(const void *data, size_t size, pyro_error *error)
{
    pyro_model *model;
    pyro_error_clear(error);
    int status = pyro_model_open_memory(&model, data, size, "test.pt2", error);
    int64_t macs = status < 0 ? status : macs_of(model, error);
    if (status == PYRO_OK)
        pyro_model_close(model);
    if (macs < 0 && (error->code != macs || !error->message[0]))
        fail_msg("%lld, '%s'", (long long)macs, error->message);
    return macs;
}

static void expect_refused(const char *spec, pyro_status code, const char *words)
{
    pyro_error error;
    assert_int_equal(open_spec(spec, &error), code);
    if (!strstr(error.message, words))
        fail_msg("%s: '%s' is not in: %s", spec, words, error.message);
}

static void test_good_files(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int64_t macs;
    } files[] = {
        {"good-1-flat-layout.pt2", 2 * 8 * 27 * 16 * 8},
        {"good-2-infix-expressions.pt2", 2 * 8 * 27 * 16 * 8},
        {"good-3-short-expressions.pt2", 2 * 8 * 27 * 16 * 8},
        {"good-4-two-models.pt2:encoder", 2 * (8 * 16 + 16 * 4)},
        {"good-4-two-models.pt2:decoder", 2 * (12 * 16 + 16 * 4)},
        {"good-5-root-folder.pt2", 2 * (8 * 16 + 16 * 4)},
        {"good-6-tied-on-meta.pt2", 2 * 5 * 16 * 40},
        {"good-7-tied-by-note.pt2", 2 * 5 * 16 * 40},
        {"good-8-cond.pt2", 4 * 16 * 16},
        {"good-9-wrong-extension.onnx", 2 * (8 * 16 + 16 * 4)},
        {"good-10-static.pt2", 2 * (8 * 16 + 16 * 4)},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pyro_error error;
        int64_t macs = open_spec(file_path(files[i].name), &error);
        if (macs != files[i].macs)
            fail_msg("%s: %lld MACs, not %lld: %s", files[i].name, (long long)macs,
                     (long long)files[i].macs, error.message);
    }
}

static void test_names(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *model, *display;
    } files[] = {
        {"good-1-flat-layout.pt2", "good-1-flat-layout", "good-1-flat-layout"},
        {"good-4-two-models.pt2:encoder", "encoder", "encoder"},
        {"good-7-tied-by-note.pt2", "tied", "Tied"},
        {"good-9-wrong-extension.onnx", "good-9-wrong-extension", "good-9-wrong-extension"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pyro_model *model;
        pyro_error error;
        pyro_error_clear(&error);
        assert_int_equal(pyro_model_open(&model, file_path(files[i].name), &error), PYRO_OK);
        assert_string_equal(pyro_model_name(model), files[i].model);
        assert_string_equal(pyro_model_display_name(model), files[i].display);
        assert_true(pyro_model_file_bytes(model) > 1000);
        pyro_model_close(model);
    }
}

/* Every invalid or foreign file is rejected with one line that names it. */
static void test_other_files(void **unused)
{
    (void)unused;
    size_t seen = 0;
    DIR *folder = opendir(file_path(""));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, "bad-", 4) && strncmp(entry->d_name, "other-", 6))
            continue;
        pyro_error error;
        char line[1024];
        assert_true(open_spec(file_path(entry->d_name), &error) < 0);
        pyro_error_line(&error, line, sizeof line);
        assert_non_null(strstr(line, entry->d_name));
        assert_null(strchr(line, '\n'));
        seen++;
    }
    closedir(folder);
    assert_true(seen >= 20);
}

static void test_content_tells(void **unused)
{
    (void)unused;
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } kinds[] = {
        {"", 0, "empty"},
        {"\x89HDF\r\n\x1a\n", 8, "HDF5"},
        {"\x1c\0\0\0TFL3", 8, "TensorFlow Lite"},
        {"\x1c\0\0\0ET12", 8, "ExecuTorch"},
        {"\x28\xb5\x2f\xfd----", 8, "zstd"},
        {"\x7f"
         "ELF\2\1\1\0",
         8, "compiled program"},
        {"\x93NUMPY\1\0", 8, "NumPy"},
        {"\x80\2}q\0.", 6, "never unpickled"},
        {"\x08\x08\x12\x07pytorch", 11, "an ONNX file without a graph"},
        {"\x08\0\0\0\0\0\0\0[]      ", 16, "not a model file"},
        {"GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "truncated"},
        {"hello", 5,
         "known format (.pt2 archive, exported program as JSON, the same JSON in gzip, ONNX, "
         "safetensors, GGUF);"},
        {"\xff", 1, "not a model file"},
        {"P", 1, "not a model file"},
        {"PK", 2, "not a model file"},
        {"PK\3\4", 4, "truncated"},
        {"\n", 1, "not a model file"},
        {"[1,2]", 5, "not a model file"},
        {"{", 1, "unexpected end of input"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pyro_error error;
        char *copy = malloc(kinds[i].size + 1);
        memcpy(copy, kinds[i].bytes, kinds[i].size);
        assert_true(open_bytes(copy, kinds[i].size, &error) < 0);
        if (!strstr(error.message, kinds[i].words))
            fail_msg("'%s' is not in: %s", kinds[i].words, error.message);
        free(copy);
    }
}

static void test_specs(void **unused)
{
    (void)unused;
    expect_refused("no-such-file", PYRO_ERROR_NOT_FOUND, "no such file or model");
    expect_refused("resnet19", PYRO_ERROR_NOT_FOUND, "did you mean resnet18");
    expect_refused("no-such-file:name", PYRO_ERROR_NOT_FOUND, "no such file");
    expect_refused(":", PYRO_ERROR_NOT_FOUND, "no such file");
    expect_refused("/", PYRO_ERROR_UNSUPPORTED, "is a directory");
    expect_refused("/dev/null", PYRO_ERROR_UNSUPPORTED, "pipe");
    expect_refused(file_path("good-4-two-models.pt2"), PYRO_ERROR_ARGUMENT,
                   "the file has 2 models (decoder, encoder): choose one with FILE:NAME");
    expect_refused(file_path("good-4-two-models.pt2:enc"), PYRO_ERROR_NOT_FOUND,
                   "no model 'enc' in the file; it has: decoder, encoder");
    expect_refused(file_path("good-4-two-models.pt2:"), PYRO_ERROR_NOT_FOUND, "no model ''");
    expect_refused(file_path("good-1-flat-layout.pt2:x"), PYRO_ERROR_NOT_FOUND,
                   "no model 'x' in the file; it has: one without a name");
}

/* test_registry.c opens all of them. */
static void test_built_in_model(void **unused)
{
    (void)unused;
    pyro_error error;
    assert_non_null(pyro_builtin_name(0));
    assert_int_equal(open_spec("resnet18", &error), 1814073344);
}

/* Every truncation of an archive is rejected. */
static void expect_every_cut_refused(const char *name)
{
    bytes whole = read_file(name);
    for (size_t cut = 0; cut < whole.size; cut++) {
        pyro_error error;
        char *copy = malloc(cut + 1);
        memcpy(copy, whole.data, cut);
        if (open_bytes(copy, cut, &error) >= 0)
            fail_msg("%s cut at byte %zu was read", name, cut);
        free(copy);
    }
    free(whole.data);
}

/* Every flipped bit is rejected, or is in unread bytes and changes nothing. */
static void expect_every_flip_seen(const char *name)
{
    bytes whole = read_file(name);
    pyro_error error;
    int64_t sound = open_bytes(whole.data, whole.size, &error);
    size_t refused = 0;
    assert_true(sound > 0);
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
        int64_t macs = open_bytes(whole.data, whole.size, &error);
        if (macs >= 0 && macs != sound)
            fail_msg("%s: bit %zu of byte %zu: %lld MACs, not %lld", name, bit % 8, bit / 8,
                     (long long)macs, (long long)sound);
        refused += macs < 0;
        whole.data[bit / 8] = (char)(whole.data[bit / 8] ^ 1 << bit % 8);
    }
    assert_true(refused > 4 * whole.size); /* most of the file is the program */
    free(whole.data);
}

static void test_cut_archives(void **unused)
{
    (void)unused;
    expect_every_cut_refused("good-1-flat-layout.pt2");
    expect_every_cut_refused("good-5-root-folder.pt2");
}

static void test_flipped_archives(void **unused)
{
    (void)unused;
    expect_every_flip_seen("good-10-static.pt2");
    expect_every_flip_seen("good-1-flat-layout.pt2");
}

static void test_without_memory(void **unused)
{
    (void)unused;
    static const char *const names[] = {"good-6-tied-on-meta.pt2", "good-7-tied-by-note.pt2",
                                        "good-4-two-models.pt2", "good-8-cond.pt2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool whole = false;
        for (long n = 0; !whole; n++) {
            pyro_model *model;
            pyro_error error;
            pyro_error_clear(&error);
            fail_alloc_after(n);
            int64_t status = pyro_model_open(&model, file_path(names[i]), &error);
            if (status == PYRO_OK) {
                status = macs_of(model, &error);
                fail_alloc_after(fail_alloc_failures() ? 0 : -1);
                pyro_model_close(model);
            }
            whole = fail_alloc_failures() == 0;
            fail_alloc_after(-1);
            if (!whole && status != PYRO_ERROR_MEMORY)
                fail_msg("%s: allocation %ld: %lld: %s", names[i], n, (long long)status,
                         error.message);
        }
    }
}

static void put(pyro_buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        pyro_buf_addc(buf, (char)(value >> 8 * i));
}

static void put_member(pyro_buf *out, int method, uint32_t crc, size_t packed, size_t size,
                       const char *name)
{
    put(out, 20, 2);
    put(out, 0, 2);
    put(out, (uint64_t)method, 2);
    put(out, 0, 4);
    put(out, crc, 4);
    put(out, packed, 4);
    put(out, size, 4);
    put(out, strlen(name), 2);
    put(out, 0, 2);
}

/*
 * That many mebibytes of `c`, deflated: one is compressed, and its bytes repeat, as full flushes
 * allow. Compressing all of it would take most of the time of all tests of src/read.
 */
static pyro_buf deflated(char c, size_t mebibytes, uint32_t *crc)
{
    enum { MEBIBYTE = 1 << 20 };
    static unsigned char chunk[MEBIBYTE], packed[MEBIBYTE];
    pyro_buf out = PYRO_BUF_INIT;
    z_stream stream = {
        .next_in = chunk, .avail_in = MEBIBYTE, .next_out = packed, .avail_out = MEBIBYTE};
    memset(chunk, c, MEBIBYTE);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
    assert_int_equal(deflate(&stream, Z_FULL_FLUSH), Z_OK);
    size_t size = stream.total_out;
    uLong one = crc32(0, chunk, MEBIBYTE), all = crc32(0, NULL, 0);
    for (size_t i = 0; i < mebibytes; i++) {
        pyro_buf_add(&out, (char *)packed, size);
        all = crc32_combine(all, one, MEBIBYTE);
    }
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    pyro_buf_add(&out, (char *)packed + size, stream.total_out - size);
    deflateEnd(&stream);
    *crc = (uint32_t)all;
    return out;
}

/* An archive whose model is that many mebibytes of `c`, deflated. */
static pyro_buf bomb(char c, size_t mebibytes)
{
    static const char name[] = "models/model.json";
    uint32_t crc;
    size_t size = mebibytes << 20;
    pyro_buf out = PYRO_BUF_INIT, packed = deflated(c, mebibytes, &crc);
    put(&out, 0x04034b50, 4);
    put_member(&out, 8, crc, packed.length, size, name);
    pyro_buf_adds(&out, name);
    pyro_buf_add(&out, packed.data, packed.length);
    size_t directory = out.length;
    put(&out, 0x02014b50, 4);
    put(&out, 20, 2);
    put_member(&out, 8, crc, packed.length, size, name);
    pyro_buf_fill(&out, 0, 14);
    pyro_buf_adds(&out, name);
    size_t length = out.length - directory;
    put(&out, 0x06054b50, 4);
    put(&out, 0, 4);
    put(&out, 1, 2);
    put(&out, 1, 2);
    put(&out, length, 4);
    put(&out, directory, 4);
    put(&out, 0, 2);
    pyro_buf_free(&packed);
    return out;
}

/* A file that would grow a thousandfold is rejected before decompression. */
static void test_bombs(void **unused)
{
    (void)unused;
    static const struct {
        char c;
        size_t mebibytes;
        pyro_status code;
    } bombs[] = {
        {' ', 300, PYRO_ERROR_LIMIT}, {'[', 300, PYRO_ERROR_LIMIT}, {' ', 60, PYRO_ERROR_FORMAT},
        {'[', 60, PYRO_ERROR_FORMAT}, {'"', 60, PYRO_ERROR_FORMAT}, {'{', 60, PYRO_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        pyro_error error;
        pyro_buf archive = bomb(bombs[i].c, bombs[i].mebibytes);
        clock_t begin = clock(); /* CPU time, independent of other load */
        assert_int_equal(open_bytes(archive.data, archive.length, &error), bombs[i].code);
        assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
        pyro_buf_free(&archive);
    }
}

/* The JSON of a program on its own, also compressed; a compressed flood of spaces ends. */
static void test_gzip(void **unused)
{
    (void)unused;
    static const char json[] =
        "{\"graph_module\":{\"graph\":{\"nodes\":[{\"target\":\"torch.ops.aten.relu.default\"}]}}}";
    char path[] = "/tmp/pyrometer-test-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, json, sizeof json - 1), (int)sizeof json - 1);
    gzclose(file);
    pyro_error error;
    assert_int_equal(open_spec(path, &error), 0);
    file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, "{", 1), 1);
    gzclose(file);
    expect_refused(path, PYRO_ERROR_FORMAT, "unexpected end of input");
    uint32_t crc;
    pyro_buf flood = PYRO_BUF_INIT, packed = deflated(' ', 300, &crc);
    pyro_buf_add(&flood, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10); /* gzip, deflated, no name */
    pyro_buf_add(&flood, packed.data, packed.length);
    put(&flood, crc, 4);
    put(&flood, (uint64_t)300 << 20, 4);
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(flood.data, 1, flood.length, out), flood.length);
    fclose(out);
    pyro_buf_free(&packed);
    pyro_buf_free(&flood);
    expect_refused(path, PYRO_ERROR_LIMIT, "bytes decompress to over");
    unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good_files),     cmocka_unit_test(test_names),
    cmocka_unit_test(test_other_files),    cmocka_unit_test(test_content_tells),
    cmocka_unit_test(test_specs),          cmocka_unit_test(test_built_in_model),
    cmocka_unit_test(test_cut_archives),   cmocka_unit_test(test_flipped_archives),
    cmocka_unit_test(test_without_memory), cmocka_unit_test(test_bombs),
    cmocka_unit_test(test_gzip),
};

UNIT_TESTS(tests, NULL, NULL)
