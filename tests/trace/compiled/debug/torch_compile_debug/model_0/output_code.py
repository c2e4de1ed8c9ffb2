# AOT ID: ['0_forward']
import torch

# Topologically Sorted Source Nodes: [x_2], Original ATen: [aten.add]
triton_poi_fused_add_3 = async_compile.triton('triton_poi_fused_add_3', '''
def triton_poi_fused_add_3(in_ptr0):
    extern_kernels.addmm(never)
''', device_str='cuda')

class Runner:
    def call(self, args):
        primals_1, primals_2 = args
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [layer_norm], Original ATen: [aten.some]
        # [Provenance debug handles] triton_per_fused_native_layer_norm_0:1
        stream0 = get_raw_stream(0)
        triton_per_fused_native_layer_norm_0.run(buf0, 2048, stream=stream0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [layer_norm, linear], Original ATen: [aten.some]
        # [Provenance debug handles] extern_kernels.addmm:2
        extern_kernels.addmm(buf0, out=buf0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.some]
        # [Provenance debug handles] triton_poi_fused_gelu_1:3
        stream0 = get_raw_stream(0)
        triton_poi_fused_gelu_1.run(buf0, 2048, stream=stream0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [gelu, linear_1], Original ATen: [aten.some]
        # [Provenance debug handles] extern_kernels.addmm:4
        extern_kernels.addmm(buf0, out=buf0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [linear_1, x_1, layer_norm_1], Original ATen: [aten.some]
        # [Provenance debug handles] triton_per_fused_add_native_layer_norm_2:5
        stream0 = get_raw_stream(0)
        triton_per_fused_add_native_layer_norm_2.run(buf0, 2048, stream=stream0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [layer_norm_1, linear_2], Original ATen: [aten.some]
        # [Provenance debug handles] extern_kernels.addmm:6
        extern_kernels.addmm(buf0, out=buf0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [linear_2, gelu_1], Original ATen: [aten.some]
        # [Provenance debug handles] triton_poi_fused_gelu_1:7
        stream0 = get_raw_stream(0)
        triton_poi_fused_gelu_1.run(buf0, 2048, stream=stream0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [gelu_1, linear_3], Original ATen: [aten.some]
        # [Provenance debug handles] extern_kernels.addmm:8
        extern_kernels.addmm(buf0, out=buf0)
        del buf0
        buf0 = empty_strided_cuda((32, 64), (64, 1), torch.float32)
        # Topologically Sorted Source Nodes: [linear_3, x_2], Original ATen: [aten.some]
        # [Provenance debug handles] triton_poi_fused_add_3:9
        stream0 = get_raw_stream(0)
        triton_poi_fused_add_3.run(buf0, 2048, stream=stream0)
        del buf0
        return (buf0, )

def benchmark_compiled_module(times=10):
    extern_kernels.addmm(never)