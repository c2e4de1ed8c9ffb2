/* Regions of storages, checked byte by byte: overlap, covering, and what writes leave visible. */
#include "dataflow/region.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, MOST_WRITES = 6 };

typedef struct boxed {
    int64_t begin, item, sizes[4], strides[4];
    size_t rank;
} boxed;

static uint64_t seed = 42;

static int64_t random_below(int64_t end)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((seed >> 33) % (uint64_t)end);
}

/* Strided slices of a tensor of some shape, or any box that fits. */
static boxed random_box(const int64_t *shape, size_t rank, int64_t item, bool any)
{
    boxed box = {.rank = rank, .item = item};
    int64_t stride = 1, offset = 0;
    for (size_t d = rank; d-- > 0;) {
        int64_t first = random_below(shape[d]), step = 1 + random_below(3);
        box.sizes[d] = 1 + random_below((shape[d] - first + step - 1) / step);
        box.strides[d] = any ? random_below(40) : stride * step;
        offset += first * stride;
        stride *= shape[d];
    }
    for (size_t i = rank; i > 1; i--) { /* dims in another order are the same bytes */
        size_t j = (size_t)random_below((int64_t)i);
        int64_t size = box.sizes[i - 1], old = box.strides[i - 1];
        box.sizes[i - 1] = box.sizes[j], box.strides[i - 1] = box.strides[j];
        box.sizes[j] = size, box.strides[j] = old;
    }
    box.begin = offset * item;
    return box;
}

static pyro_region region_of(const boxed *box)
{
    return pyro_region_strided(box->begin, box->item, box->rank, box->sizes, box->strides);
}

/* Marks every byte of a box with a number. */
static void mark(const boxed *box, unsigned char *bytes, unsigned char number)
{
    int64_t at[4] = {0};
    for (;;) {
        int64_t place = box->begin;
        for (size_t d = 0; d < box->rank; d++)
            place += at[d] * box->strides[d] * box->item;
        assert_in_range(place + box->item, 1, BYTES);
        memset(bytes + place, number, (size_t)box->item);
        size_t d = 0;
        while (d < box->rank && ++at[d] == box->sizes[d])
            at[d++] = 0;
        if (d == box->rank)
            return;
    }
}

/* Typical boxes of writes to and a read of one tensor. */
static size_t random_boxes(boxed *boxes, size_t count)
{
    static const int64_t items[] = {1, 2, 4, 8};
    int64_t shape[4], item = items[random_below(4)];
    size_t rank = 1 + (size_t)random_below(4);
    bool any = random_below(4) == 0;
    for (size_t d = 0; d < rank; d++)
        shape[d] = 1 + random_below(rank == 4 ? 4 : rank == 3 ? 6 : 12);
    for (size_t i = 0; i < count; i++)
        boxes[i] = random_box(shape, rank, item, any);
    return rank;
}

static void test_overlap_is_that_of_the_bytes(void **state)
{
    (void)state;
    size_t apart = 0, met = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned char left[BYTES] = {0}, right[BYTES] = {0};
        boxed boxes[2];
        bool shared = false, covered = true;
        random_boxes(boxes, 2);
        mark(&boxes[0], left, 1);
        mark(&boxes[1], right, 1);
        for (size_t i = 0; i < BYTES; i++) {
            shared |= left[i] && right[i];
            covered &= left[i] || !right[i];
        }
        pyro_region a = region_of(&boxes[0]), b = region_of(&boxes[1]);
        assert_int_equal(pyro_regions_meet(&a, &b), shared ? PYRO_MEET : PYRO_APART);
        assert_int_equal(pyro_regions_meet(&b, &a), shared ? PYRO_MEET : PYRO_APART);
        assert_true(covered || !pyro_region_covers(&a, &b));
        apart += !shared;
        met += shared;
    }
    assert_true(apart > 1000 && met > 1000);
}

static void test_what_is_seen_is_the_last_that_was_written(void **state)
{
    (void)state;
    size_t hidden = 0, bare = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned char bytes[BYTES] = {0}, read[BYTES] = {0};
        boxed boxes[MOST_WRITES + 1];
        pyro_region regions[MOST_WRITES + 1];
        const pyro_region *above[MOST_WRITES];
        bool wanted[MOST_WRITES + 1] = {false}, visible[MOST_WRITES + 1];
        size_t count = 1 + (size_t)random_below(MOST_WRITES);
        int64_t budget = 1 << 20;
        random_boxes(boxes, count + 1);
        for (size_t i = 0; i <= count; i++)
            regions[i] = region_of(&boxes[i]);
        for (size_t i = count; i-- > 0;)
            mark(&boxes[i + 1], bytes, (unsigned char)(i + 1));
        mark(&boxes[0], read, 1);
        for (size_t i = 0; i < BYTES; i++)
            if (read[i])
                wanted[bytes[i] ? bytes[i] - 1u : count] = true;
        for (size_t i = 0; i < count; i++)
            above[i] = &regions[i + 1];
        assert_true(pyro_regions_stack(&regions[0], above, count, &budget, visible));
        for (size_t i = 0; i <= count; i++)
            assert_int_equal(visible[i], wanted[i]);
        hidden += !wanted[count];
        bare += wanted[count];
        double marked = 0;
        for (size_t i = 0; i < BYTES; i++)
            marked += read[i];
        assert_true(pyro_region_most_bytes(&regions[0]) >= marked);
        assert_true(pyro_region_least_bytes(&regions[0]) <= marked);
    }
    assert_true(hidden > 1000 && bare > 1000);
}

static pyro_region columns(int64_t rows, int64_t width, int64_t first, int64_t step)
{
    const int64_t sizes[] = {rows, (width - first + step - 1) / step}, strides[] = {width, step};
    return pyro_region_strided(first * 4, 4, 2, sizes, strides);
}

static void test_large_tensors_are_decided(void **state)
{
    (void)state;
    const int64_t rows = 1 << 20, width = 1 << 12;
    pyro_region all = pyro_region_run(0, rows * width * 4);
    pyro_region even = columns(rows, width, 0, 2), odd = columns(rows, width, 1, 2);
    pyro_region low = columns(rows, width / 2, 0, 1);
    const pyro_region *both[] = {&even, &odd};
    int64_t budget = 1 << 20;
    bool visible[3];
    assert_int_equal(pyro_regions_meet(&even, &odd), PYRO_APART);
    assert_int_equal(pyro_regions_meet(&even, &all), PYRO_MEET);
    assert_int_equal(pyro_regions_meet(&low, &odd), PYRO_MEET);
    assert_true(pyro_regions_stack(&all, both, 2, &budget, visible));
    assert_true(visible[0] && visible[1] && !visible[2]);
    assert_true(pyro_regions_stack(&all, both, 1, &budget, visible));
    assert_true(visible[0] && visible[1]);
}

static void test_forms_of_the_same_bytes(void **state)
{
    (void)state;
    const int64_t sizes[] = {3, 1, 5, 4}, strides[] = {20, 7, 4, 1};
    pyro_region region = pyro_region_strided(8, 4, 4, sizes, strides);
    assert_int_equal(region.axis_count, 1);
    assert_int_equal(region.begin, 8);
    assert_int_equal(region.end, 8 + 60 * 4);
    const int64_t expanded[] = {0, 0, 4, 1};
    region = pyro_region_strided(0, 4, 4, sizes, expanded);
    assert_int_equal(region.axis_count, 1);
    assert_int_equal(region.end, 80);
    const int64_t nothing[] = {3, 0, 5, 4};
    region = pyro_region_strided(0, 4, 4, nothing, strides);
    assert_int_equal(region.begin, region.end);
}

static void test_what_cannot_be_known(void **state)
{
    (void)state;
    const int64_t sizes[] = {INT64_MAX / 2, 3}, strides[] = {INT64_MAX / 2, -1}, ones[] = {1, 1};
    pyro_region run = pyro_region_run(0, 64), region;
    bool visible[2];
    int64_t budget = 100;
    region = pyro_region_strided(0, 8, 2, sizes, strides);
    assert_true(region.end < 0);
    assert_int_equal(pyro_regions_meet(&region, &run), PYRO_MAY_MEET);
    region = pyro_region_strided(INT64_MAX - 1, 8, 2, ones, ones);
    assert_true(region.end < 0);
    region = pyro_region_strided(-4, 8, 2, ones, ones);
    assert_true(region.end < 0);
    region = pyro_region_somewhere(8, 32);
    const pyro_region *above = &region;
    assert_false(pyro_regions_stack(&run, &above, 1, &budget, visible));
    /* More than eight strides that do not join. */
    int64_t many_sizes[12], many_strides[12], stride = 1;
    for (int i = 0; i < 12; i++, stride *= 5)
        many_sizes[i] = 2, many_strides[i] = stride;
    region = pyro_region_strided(0, 2, 12, many_sizes, many_strides);
    assert_false(region.exact);
    assert_true(region.end > 0);
}

/* The search over strides without a common pattern stops at its limit. */
static void test_a_search_ends(void **state)
{
    (void)state;
    const int64_t sizes[] = {50, 50, 50, 50, 50, 50};
    const int64_t left[] = {1000003, 999983, 999979, 999961, 999959, 999953};
    const int64_t right[] = {1000033, 1000037, 1000039, 1000081, 1000099, 1000117};
    for (int64_t begin = 0; begin < 50; begin++) {
        pyro_region a = pyro_region_strided(begin, 1, 6, sizes, left);
        pyro_region b = pyro_region_strided(7, 1, 6, sizes, right);
        pyro_regions_meet(&a, &b);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overlap_is_that_of_the_bytes),
    cmocka_unit_test(test_what_is_seen_is_the_last_that_was_written),
    cmocka_unit_test(test_large_tensors_are_decided),
    cmocka_unit_test(test_forms_of_the_same_bytes),
    cmocka_unit_test(test_what_cannot_be_known),
    cmocka_unit_test(test_a_search_ends),
};

UNIT_TESTS(tests, NULL, NULL)
