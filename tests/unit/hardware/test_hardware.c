/* Tests of hardware/hardware.c. */
#include "hardware/hardware.h"
#include "unit.h"

#include <stddef.h>
#include <string.h>

#define GIB (INT64_C(1) << 30)

/* Names as torch prints them, with their memory sizes. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t gib;
        const char *chip;
    } examples[] = {
        {"NVIDIA A100-SXM4-40GB", 40, "A100 40GB SXM"},
        {"NVIDIA A100-SXM4-80GB", 80, "A100 80GB SXM"},
        {"NVIDIA A100 80GB PCIe", 80, "A100 80GB PCIe"},
        {"NVIDIA A100-PCIE-40GB", 40, "A100 40GB PCIe"},
        {"A100-SXM4-40GB", 40, "A100 40GB SXM"},
        {"NVIDIA A100-PG509-200", 40, "A100 40GB SXM"},
        {"NVIDIA A10", 23, "A10"},
        {"Tesla V100-SXM2-16GB", 16, "V100 SXM2"},
        {"Tesla V100-PCIE-32GB", 32, "V100 32GB PCIe"},
        {"Tesla V100-DGXS-32GB", 32, "V100 32GB SXM2"},
        {"Tesla P100-PCIE-16GB", 16, "P100 PCIe"},
        {"Tesla T4", 15, "T4"},
        {"NVIDIA H100 80GB HBM3", 80, "H100 SXM"},
        {"NVIDIA H100 PCIe", 80, "H100 PCIe"},
        {"NVIDIA H100 NVL", 94, "H100 NVL"},
        {"NVIDIA H200", 140, "H200 SXM"},
        {"NVIDIA GH200 480GB", 96, "GH200 96GB"},
        {"NVIDIA GH200 144G HBM3e", 141, "GH200 144GB"},
        {"NVIDIA B200", 179, "B200"},
        {"NVIDIA GB200", 185, "GB200"},
        {"NVIDIA L4", 22, "L4"},
        {"NVIDIA L40S", 45, "L40S"},
        {"NVIDIA GeForce RTX 3090", 24, "RTX 3090"},
        {"NVIDIA GeForce RTX 4090", 24, "RTX 4090"},
        {"NVIDIA GeForce RTX 5090", 32, "RTX 5090"},
        {"NVIDIA RTX 6000 Ada Generation", 48, "RTX 6000 Ada"},
        {"AMD Instinct MI210", 64, "MI210"},
        {"AMD Instinct MI250X", 64, "MI250X (one die)"},
        {"AMD Instinct MI300X", 192, "MI300X"},
        {"AMD Instinct MI300A", 128, "MI300A"},
        {"AMD Instinct MI325X", 256, "MI325X"},
        {"AMD Instinct MI355X", 288, "MI355X"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const pyro_chip *chip = pyro_chip_find(examples[i].name, examples[i].gib * GIB);
        if (!chip)
            fail_msg("%s: not found", examples[i].name);
        assert_string_equal(chip->name, examples[i].chip);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "NVIDIA GeForce RTX 4090 Laptop GPU",
                                        "AMD Radeon Graphics",
                                        "NVIDIA A10G",
                                        "NVIDIA H2000",
                                        "CPU"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(pyro_chip_find(names[i], 80 * GIB));
}

/* Every row is found by its own words, and its figures are plausible. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < pyro_chip_count; i++) {
        const pyro_chip *chip = &pyro_chips[i];
        const pyro_chip *found = pyro_chip_find(chip->words,
                                                (int64_t)(chip->least_memory_gib + 1) * GIB);
        if (found != chip)
            fail_msg("%s: hidden by %s", chip->name, found ? found->name : "nothing");
        assert_true(chip->bandwidth_gb_per_s > 0 && chip->fp32_tflops + chip->bf16_tflops > 0);
        assert_true(chip->fp16_tflops == 0 || chip->fp16_tflops >= chip->fp32_tflops);
        assert_true(chip->tf32_tflops == 0 || chip->tf32_tflops >= chip->fp32_tflops);
        assert_true(chip->fp8_tflops == 0 || chip->fp8_tflops >= chip->fp16_tflops);
        assert_true(chip->fp4_tflops == 0 || chip->fp4_tflops >= chip->fp8_tflops);
        assert_true(chip->memory_bytes >= 16 * GIB && chip->memory_bytes <= 512 * GIB);
        assert_true((double)chip->memory_bytes >= chip->least_memory_gib * (double)GIB);
        assert_true(chip->cache_bytes < GIB && chip->link_bytes_per_s >= 16e9);
        assert_true(chip->power_watts == 0 || chip->power_watts >= 60);
        assert_true(strlen(chip->source) > 5);
    }
}

/* Names as users write them. */
static void test_names_of_users(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"h100", "H100 SXM"},
        {"H100 pcie", "H100 PCIe"},
        {"h100-pcie", "H100 PCIe"},
        {"a100", "A100 40GB SXM"},
        {"a100-80gb", "A100 80GB SXM"},
        {"A100 80GB PCIe", "A100 80GB PCIe"},
        {"V100 32GB SXM2", "V100 32GB SXM2"},
        {"b200", "B200"},
        {"tpu-v5e", "TPU v5e"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server"},
        {"mi250x", "MI250X (one die)"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const pyro_chip *chip = pyro_chip_by_name(examples[i][0]);
        if (!chip)
            fail_msg("%s: not found", examples[i][0]);
        assert_string_equal(chip->name, examples[i][1]);
    }
    assert_null(pyro_chip_by_name("h1"));
    assert_null(pyro_chip_by_name(""));
}

static void test_peaks(void **state)
{
    (void)state;
    const pyro_chip *h100 = pyro_chip_find("NVIDIA H100 80GB HBM3", 80 * GIB);
    const pyro_chip *v100 = pyro_chip_find("Tesla V100-SXM2-16GB", 16 * GIB);
    assert_float_equal(pyro_chip_peak_flops_per_s(h100, PYRO_DTYPE_BFLOAT16), 989.5e12, 1e9);
    assert_float_equal(pyro_chip_peak_flops_per_s(h100, PYRO_DTYPE_FLOAT32), 494.5e12, 1e9);
    assert_float_equal(pyro_chip_peak_flops_per_s(h100, PYRO_DTYPE_FLOAT64), 34e12, 1e9);
    assert_float_equal(pyro_chip_bytes_per_s(h100), 3350e9, 1);
    /* no TF32 and no bfloat16 there: both run as float32 */
    assert_float_equal(pyro_chip_peak_flops_per_s(v100, PYRO_DTYPE_FLOAT32), 15.7e12, 1e9);
    assert_float_equal(pyro_chip_peak_flops_per_s(v100, PYRO_DTYPE_BFLOAT16), 15.7e12, 1e9);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names), cmocka_unit_test(test_unknown),
    cmocka_unit_test(test_rows),  cmocka_unit_test(test_names_of_users),
    cmocka_unit_test(test_peaks),
};

UNIT_TESTS(tests, NULL, NULL)
