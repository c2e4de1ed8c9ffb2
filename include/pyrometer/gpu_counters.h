/*
 * The values of a GPU that are sampled while a program is recorded. A counter has at most
 * PYRO_COUNTER_VALUES series, which follow each other here. Traces hold them under these names
 * (docs/gpu.md explains them).
 */
#ifndef PYROMETER_GPU_COUNTERS_H
#define PYROMETER_GPU_COUNTERS_H

/* VALUE(id, counter, series). The throttle series are 1 or 0; "GPU units" and "GPU links" are
 * means since the last sample. */
#define PYRO_GPU_VALUES(VALUE) \
    VALUE(POWER, "GPU power", "W") \
    VALUE(ENERGY, "GPU energy", "J") \
    VALUE(SM_CLOCK, "GPU clock", "SM MHz") \
    VALUE(MEMORY_CLOCK, "GPU clock", "memory MHz") \
    VALUE(TEMPERATURE, "GPU temperature", "C") \
    VALUE(BUSY, "GPU busy", "kernels %") \
    VALUE(MEMORY_BUSY, "GPU busy", "memory %") \
    VALUE(MEMORY_USED, "GPU memory", "used bytes") \
    VALUE(HEAT, "GPU throttle", "heat") \
    VALUE(HARDWARE, "GPU throttle", "hardware") \
    VALUE(POWER_CAP_HIT, "GPU throttle", "power cap") \
    VALUE(SETTING, "GPU throttle", "clock setting") \
    VALUE(UNIT_SM, "GPU units", "SM %") \
    VALUE(UNIT_OCCUPANCY, "GPU units", "occupancy %") \
    VALUE(UNIT_TENSOR, "GPU units", "tensor %") \
    VALUE(UNIT_DRAM, "GPU units", "DRAM %") \
    VALUE(UNIT_FP32, "GPU units", "FP32 %") \
    VALUE(PCIE_SENT, "GPU links", "PCIe sent MiB/s") \
    VALUE(PCIE_RECEIVED, "GPU links", "PCIe received MiB/s") \
    VALUE(NVLINK_SENT, "GPU links", "NVLink sent MiB/s") \
    VALUE(NVLINK_RECEIVED, "GPU links", "NVLink received MiB/s")

typedef enum pyro_gpu_value {
#define VALUE(id, counter, series) PYRO_GPU_VALUE_##id,
    PYRO_GPU_VALUES(VALUE)
#undef VALUE
        PYRO_GPU_VALUE_COUNT
} pyro_gpu_value;

#endif
