#pragma once

namespace muster::engine {

class Registry;

// One function per folder of ops/: adds its operators and kernels.
void register_creation_operators(Registry& registry);
void register_elementwise_operators(Registry& registry);
void register_reduction_operators(Registry& registry);
void register_shape_operators(Registry& registry);
void register_joining_operators(Registry& registry);
void register_indexing_operators(Registry& registry);
void register_sorting_operators(Registry& registry);
void register_statistics_operators(Registry& registry);
void register_linalg_operators(Registry& registry);
void register_random_operators(Registry& registry);
void register_fft_operators(Registry& registry);
void register_special_operators(Registry& registry);
void register_python_operators(Registry& registry);

}  // namespace muster::engine
