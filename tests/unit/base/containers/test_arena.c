/* Tests of base/containers/arena.c. */
#include "base/containers/arena.h"

#include "fail_alloc.h"
#include "unit.h"
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

static void test_pieces(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    unsigned char *pieces[500];
    for (size_t i = 0; i < 500; i++) {
        size_t size = i * i % 977;
        pieces[i] = pyro_arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 251 + 1), size);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < i * i % 977; k++)
            assert_int_equal(pieces[i][k], i % 251 + 1);
    assert_true(arena.total_bytes > 0);
    pyro_arena_free(&arena);
    assert_int_equal(arena.total_bytes, 0);
    pyro_arena_free(&arena);
}

static void test_large_piece_keeps_the_open_block(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    char *first = pyro_arena_alloc(&arena, 16);
    char *large = pyro_arena_alloc(&arena, 10 << 20);
    char *second = pyro_arena_alloc(&arena, 16);
    assert_non_null(large);
    large[(10 << 20) - 1] = 1;
    assert_ptr_equal(second, first + 16);
    pyro_arena_free(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    assert_string_equal(pyro_arena_text(&arena, "layer1.conv", 6), "layer1");
    assert_string_equal(pyro_arena_text(&arena, NULL, 0), "");
    assert_memory_equal(pyro_arena_text(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(pyro_arena_format(&arena, "%s.%d", "layer", 12), "layer.12");
    pyro_arena_free(&arena);
}

static void test_overflow(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    assert_null(pyro_arena_alloc(&arena, SIZE_MAX));
    assert_null(pyro_arena_alloc(&arena, SIZE_MAX - 8));
    assert_null(pyro_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(pyro_arena_text(&arena, "", SIZE_MAX));
    assert_non_null(pyro_arena_array(&arena, 0, 8));
    assert_non_null(pyro_arena_array(&arena, 3, 8));
    pyro_arena_free(&arena);
}

static void test_without_memory(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    fail_alloc_after(0);
    assert_null(pyro_arena_alloc(&arena, 1));
    assert_null(pyro_arena_text(&arena, "a", 1));
    assert_null(pyro_arena_format(&arena, "%d", 1));
    fail_alloc_after(1);
    assert_non_null(pyro_arena_alloc(&arena, 1));
    assert_null(pyro_arena_alloc(&arena, 1 << 20));
    assert_non_null(pyro_arena_alloc(&arena, 1));
    fail_alloc_after(-1);
    pyro_arena_free(&arena);
}

static void test_smaller_alignments(void **state)
{
    (void)state;
    pyro_arena arena;
    pyro_arena_init(&arena);
    char *text = pyro_arena_text(&arena, "ab", 2);
    uint32_t *words = pyro_arena_items(&arena, 3, sizeof *words, alignof(uint32_t));
    assert_ptr_equal((char *)words, text + alignof(max_align_t));
    char *byte = pyro_arena_items(&arena, 1, 1, 1);
    assert_ptr_equal(byte, words + 3);
    /* Texts are compared 16 bytes at once, and some hold words. */
    assert_int_equal((uintptr_t)pyro_arena_text(&arena, "", 0) % alignof(max_align_t), 0);
    assert_int_equal((uintptr_t)pyro_arena_alloc(&arena, 1) % alignof(max_align_t), 0);
    assert_null(pyro_arena_items(&arena, SIZE_MAX / 2, 3, 4));
    /* Aligned up, the next piece would begin behind the end of the block. */
    size_t left = 4096 - 17;
    assert_non_null(pyro_arena_items(&arena, left - 32, 1, 1));
    for (int i = 0; i < 100; i++)
        memset(pyro_arena_alloc(&arena, 7), 1, 7);
    pyro_arena_free(&arena);
}

/* Blocks that a populator prepares are zeroed too, and pieces do not overlap. */
static void test_populator(void **state)
{
    (void)state;
    enum { PIECES = 80, PIECE = 1 << 20 };
    pyro_arena arena;
    pyro_arena_init(&arena);
    pyro_populator *populator = pyro_populator_start();
    pyro_arena_set_populator(&arena, populator);
    unsigned char *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = pyro_arena_alloc(&arena, PIECE);
        assert_non_null(pieces[i]);
        for (size_t k = 0; k < PIECE; k += 509)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], i + 1, PIECE);
    }
    for (int i = 0; i < PIECES; i++)
        assert_true(pieces[i][0] == i + 1 && pieces[i][PIECE - 1] == i + 1);
    assert_true(!populator || arena.spare);
    pyro_arena_set_populator(&arena, NULL);
    assert_null(arena.spare);
    pyro_arena_set_populator(&arena, populator);
    assert_non_null(pyro_arena_alloc(&arena, PIECE));
    pyro_arena_free(&arena);
    pyro_populator_stop(populator);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pieces),         cmocka_unit_test(test_large_piece_keeps_the_open_block),
    cmocka_unit_test(test_texts),          cmocka_unit_test(test_overflow),
    cmocka_unit_test(test_without_memory), cmocka_unit_test(test_smaller_alignments),
    cmocka_unit_test(test_populator),
};

UNIT_TESTS(tests, NULL, NULL)
