/* Tests of base/sha256.c: the examples of FIPS 180-4, and every length around a block. */
#include "unit.h"

#include "base/sha256.h"

#include <string.h>

static void check(const void *bytes, size_t size, const char *wanted)
{
    char hex[PYRO_SHA256_HEX];
    pyro_sha256 hash;

    pyro_sha256_init(&hash);
    pyro_sha256_add(&hash, bytes, size);
    pyro_sha256_finish(&hash, hex);
    assert_string_equal(hex, wanted);
}

static void test_examples(void **state)
{
    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_pieces(void **state)
{
    char text[130], whole[PYRO_SHA256_HEX], pieces[PYRO_SHA256_HEX];
    pyro_sha256 hash;

    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t size = 0; size <= sizeof text; size++) {
        pyro_sha256_init(&hash);
        pyro_sha256_add(&hash, text, size);
        pyro_sha256_finish(&hash, whole);
        pyro_sha256_init(&hash);
        for (size_t i = 0; i < size; i++)
            pyro_sha256_add(&hash, text + i, 1);
        pyro_sha256_finish(&hash, pieces);
        assert_string_equal(whole, pieces);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_examples),
    cmocka_unit_test(test_pieces),
};

UNIT_TESTS(tests, NULL, NULL)
